"""Check files of settings before Hydra uses them: a recipe sets values of azero and runs nothing.

Hydra's own settings may name code (`_target_`), folders and environment variables. Only `conf/config.yaml` of
azero and the command line set them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigResult
from omegaconf._utils import get_yaml_loader

from azero.cli.overrides import check_setting, conf_folder, is_known
from azero.config.schema import UserError, settings

MOST_NODES = 10_000  # of a file with its repetitions (`*name`) written out
SCHEMA = "schema"  # the name of the dataclasses among Hydra's files


class SettingsSource(FileConfigSource):
    """Reads the files of a folder for Hydra."""

    def load_config(self, config_path: str) -> ConfigResult:
        """Return the content of a file.

        Raises:
            UserError: it holds what a file of settings must not.
        """
        path = Path(self.path, self._normalize_file_name(config_path))
        if path.is_file() and path.resolve() != (conf_folder() / "config.yaml").resolve():
            check_file(path, config_path)
        return super().load_config(config_path)

    def is_config(self, config_path: str) -> bool:
        """Return whether the folder holds this file. No file takes the schema's place."""
        return config_path != SCHEMA and super().is_config(config_path)


def check_files_for_hydra() -> None:
    """Let Hydra read files through `SettingsSource` from now on."""
    from hydra._internal.sources_registry import SourcesRegistry

    Plugins.instance()  # registers Hydra's own
    SourcesRegistry.instance().types[SettingsSource.scheme()] = SettingsSource


def check_file(path: Path, config_path: str) -> None:
    """Check one file of settings.

    Args:
        path: the file.
        config_path: its name for Hydra, such as "experiment/mine".

    Raises:
        UserError: it is not YAML, has an unknown setting or a value that is not allowed, speaks to Hydra
            (`hydra`, `_target_`), calls a resolver such as `${oc.env:HOME}`, or is endless.
    """
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-8")
        loader = get_yaml_loader()(text)
        root = loader.get_single_node()
    except UnicodeDecodeError as wrong:
        line = raw[: wrong.start].count(b"\n") + 1
        raise UserError(f"{path}, line {line}: the file is not UTF-8; save it as UTF-8.") from wrong
    except yaml.YAMLError as wrong:
        raise not_yaml(path, wrong) from wrong
    packages = re.findall(r"#\s*@package\s+(\S+)", text)
    if any(map(names_hydra, packages)):
        raise refused(path, 1, "the package hydra")
    if names_hydra(config_path):
        raise refused(path, 1, "the name hydra")
    if root is None:
        return
    if count_nodes(root, {}) > MOST_NODES:
        raise UserError(f"{path} holds more than {MOST_NODES:,} values; shorten it.")
    for node, role in nodes_of(root):
        line = node.start_mark.line + 1
        if role != "value" and (names_hydra(node.value) or node.value == "_target_"):
            raise refused(path, line, f"the key {node.value!r}" if role == "key" else repr(node.value))
        if "${" in re.sub(r"\$\{[\w.\[\]]+\}", "", node.value):
            raise UserError(
                f"{path}, line {line}: {node.value!r} may refer to settings only, such as ${{seed}}; "
                "write the value itself."
            )
    package = config_path.rpartition("/")[0].replace("/", ".")
    if packages and packages[0] != "_group_":
        package = packages[0]
    check_settings(path, loader, root, "" if package == "_global_" else package)


def check_settings(path: Path, loader: Any, node: yaml.Node, group: str) -> None:
    """Check the settings of a file; those of `node` are below the group of this name, "" for none.

    Raises:
        UserError: a setting is unknown, or its value is not allowed.
    """
    if not isinstance(node, yaml.MappingNode):
        raise UserError(f"{path}, line {node.start_mark.line + 1}: settings are written key: value.")
    written = list[str]()
    for key_node, _ in node.value:
        where = f"{path}, line {key_node.start_mark.line + 1}"
        if not isinstance(key_node, yaml.ScalarNode):
            raise UserError(f"{where}: settings are written key: value.")
        if key_node.value in written:
            raise UserError(f"{where}: found duplicate key {key_node.value}.")
        written.append(key_node.value)
    loader.flatten_mapping(node)  # what << takes from elsewhere
    for key_node, value_node in node.value:
        key = f"{group}.{key_node.value}" if group else str(key_node.value)
        if key_node.value == "defaults" and key not in settings():
            continue
        if isinstance(value_node, yaml.MappingNode) and key not in settings() and is_known(key):
            check_settings(path, loader, value_node, key)
            continue
        try:
            check_setting(key, loader.construct_object(value_node, deep=True))
        except UserError as mistake:
            raise UserError(f"{path}, line {key_node.start_mark.line + 1}: {mistake}") from mistake
        except (yaml.YAMLError, ValueError) as wrong:
            raise not_yaml(path, wrong, value_node) from wrong


def not_yaml(path: Path, wrong: Exception, node: yaml.Node | None = None) -> UserError:
    """Return the error for a file that YAML refuses."""
    mark = getattr(wrong, "problem_mark", node.start_mark if node else None)
    problem = getattr(wrong, "problem", None) or str(wrong).partition("\n")[0].rstrip(".")
    return UserError(f"{path}, line {mark.line + 1 if mark else 1}: {problem or 'not YAML'}.")


def names_hydra(text: str) -> bool:
    """Return whether a key, package or path has a part `hydra`."""
    return "hydra" in re.split(r"\W+", text)


def refused(path: Path, line: int, what: str) -> UserError:
    """Return the error for a file that speaks to Hydra."""
    return UserError(
        f"{path}, line {line}: {what} is not for files of settings, which set values of azero only; "
        "remove it, or type hydra settings on the command line."
    )


def count_nodes(node: yaml.Node, known: dict[int, int]) -> int:
    """Return the size of a file with its repetitions written out; one inside itself counts as too large."""
    if id(node) not in known:
        known[id(node)] = MOST_NODES
        known[id(node)] = 1 + sum(count_nodes(child, known) for child in children(node))
    return known[id(node)]


def children(node: yaml.Node) -> Iterator[yaml.Node]:
    """Yield the keys and values of a mapping, or the entries of a list."""
    for entry in node.value if isinstance(node, yaml.CollectionNode) else ():
        yield from entry if isinstance(entry, tuple) else (entry,)


def nodes_of(node: yaml.Node, role: str = "value") -> Iterator[tuple[yaml.ScalarNode, str]]:
    """Yield the scalars of a file, each with its role: "key", "value", or "entry" of a `defaults` list."""
    if isinstance(node, yaml.ScalarNode):
        yield node, role
    elif isinstance(node, yaml.SequenceNode):
        for entry in node.value:
            yield from nodes_of(entry, role)
    else:
        for key, value in node.value:
            yield from nodes_of(key, "key")
            listed = isinstance(key, yaml.ScalarNode) and key.value == "defaults"
            yield from nodes_of(value, "entry" if listed else role)
