"""A search that a person can watch, as a record, as text or as a page.

For others: `record.record`, `page.page`, `static/trace.js`.
Imports: config, games, kernels, network, page, search.
"""
