"""The routes of training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.routing import Route

from azero.run.folder import paths_of
from azero.studio.safety import Refusal, api, read_json
from azero.studio.state import Studio


def routes(studio: Studio) -> list[Route]:
    """Return the routes of training."""
    jobs, in_thread = studio.jobs, studio.run_in_thread

    def with_body(act: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Request], Any]:
        async def answer(request: Request) -> dict[str, Any]:
            return await in_thread(act, await read_json(request))

        return answer

    async def change(request: Request) -> dict[str, Any]:
        name, asked = request.path_params["name"], await read_json(request)
        paths_of(jobs.config, name)  # 400 for what can be no name
        match request.path_params["verb"]:
            case "stop":
                return await in_thread(jobs.stop, name)
            case "go_on":
                return await in_thread(jobs.go_on, name, asked)
            case "delete":
                return await in_thread(jobs.delete, name, asked.get("confirm") is True)
            case other:
                raise Refusal(404, f"A run cannot {other[:40]!r}.")

    async def live(request: Request) -> dict[str, Any]:
        name = request.path_params["name"]

        def read() -> dict[str, Any]:
            with studio.reading(f"Run {name}"):
                return jobs.live(name)

        return await in_thread(read)

    return [
        api("POST", "/train", with_body(jobs.train)),
        api("POST", "/estimate", with_body(jobs.estimate)),
        api("GET", "/runs/{name}/live", live),
        api("POST", "/runs/{name}/{verb}", change),
    ]
