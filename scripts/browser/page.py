#!/usr/bin/python3
"""Writes the page that runs the engine: one HTML file with the engine, the style, the scripts and
the shipped scenarios inside; and a folder with the same for a web server, where the engine is a
file of its own. The same inputs give the same bytes. scripts/page calls this.

SPDX-License-Identifier: MIT
"""

import argparse
import base64
import gzip
import hashlib
import json
import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "sim/report/page"
LOOKS = ROOT / "scripts/plotting/looks.json"
FIRST = "deploy"


def read(path):
    return path.read_text(encoding="utf-8")


def page_scripts():
    """The script of reports, in the order that CMake has, with what only a live page needs."""
    listed = read(ROOT / "scripts/cmake/page.cmake")
    names = []
    for variable in ("page_live_scripts", "page_scripts"):
        names += re.search(rf"set\({variable}([\w\s]+)\)", listed).group(1).split()
    parts = "\n".join(read(PAGE / f"{name}.js") for name in names)
    return f'"use strict";\n(() => {{\nconst LOOKS = {read(LOOKS)};\n{parts}\n}})();\n'


def page_style():
    """The style of reports with what only a live page needs, and the colours of pictures."""
    colours = json.loads(read(LOOKS))["colours"]
    light, dark = ("".join(f" --{name}: {colour[ground]};" for name, colour in colours.items())
                   for ground in ("light", "dark"))
    return (f":root {{{light} }}\n"
            f"@media screen and (prefers-color-scheme: dark) {{ :root {{{dark} }} }}\n"
            + read(PAGE / "page.css") + read(PAGE / "live.css"))


def scenarios():
    """The shipped scenarios with the CSV files that they name; the first one opens the page."""
    found = []
    for path in sorted((ROOT / "scenarios").glob("*.toml")):
        text = read(path)
        files = {name: read(path.parent / name)
                 for name in sorted(set(re.findall(r'"([\w.-]+\.csv)"', text)))}
        found.append({"name": path.stem, "path": f"scenarios/{path.name}", "toml": text,
                      "files": files})
    return sorted(found, key=lambda one: (one["name"] != FIRST, one["name"].startswith("study-"),
                                          one["name"]))


def in_script(text):
    """JSON that no browser takes for markup."""
    return text.replace("<", "\\u003c")


def policy_hash(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def version():
    project = read(ROOT / "CMakeLists.txt")
    return re.search(r"project\(retrysim VERSION ([\d.]+)", project).group(1)


def packed(engine):
    text = base64.b64encode(gzip.compress(engine, 9, mtime=0)).decode()
    return f"<script type=\"text/plain\" id=\"engine\">{text}</script>\n"


def html(engine_element, connections=""):
    style, script = page_style(), page_scripts()
    # Nothing comes from anywhere. The worker that runs the engine is a part of the script, images
    # are drawings that it saves.
    policy = (f"default-src 'none'; script-src {policy_hash(script)} 'wasm-unsafe-eval'; "
              f"style-src {policy_hash(style)}; img-src data:; worker-src blob:; {connections}"
              "base-uri 'none'; form-action 'none'")
    return "".join([
        "<!doctype html><!-- retrysim page -->\n<html lang=\"en\">\n<head>\n",
        "<meta charset=\"utf-8\">\n",
        f"<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n",
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
        "<meta name=\"color-scheme\" content=\"light dark\">\n",
        f"<meta name=\"generator\" content=\"retrysim {version()}\">\n",
        "<title>retrysim: does it recover?</title>\n",
        f"<style>{style}</style>\n</head>\n<body>\n<main><div id=\"live\"></div>",
        "<div id=\"page\"></div></main>\n",
        "<noscript>This page computes with JavaScript and WebAssembly, which are switched off.",
        "</noscript>\n",
        "<script type=\"application/json\" id=\"scenarios\">",
        in_script(json.dumps(scenarios(), ensure_ascii=False, separators=(",", ":"))),
        "</script>\n",
        engine_element,
        f"<script>{script}</script>\n</body>\n</html>\n"])


def write_whole(path, content):
    """The file is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".new")
    temporary.write_bytes(content)
    os.replace(temporary, path)


def write_folder(folder, engine):
    """The engine's name has the version. What it asks for changes with every byte, so that no cache
    has an old one."""
    name = f"retrysim-{version()}.wasm"
    for old in folder.glob("retrysim-*.wasm"):
        if old.name != name:
            old.unlink()
    write_whole(folder / name, engine)
    file = f"{name}?{hashlib.sha256(engine).hexdigest()[:12]}"
    element = f"<script type=\"text/plain\" id=\"engine\" data-file=\"{file}\"></script>\n"
    write_whole(folder / "index.html", html(element, "connect-src 'self'; ").encode())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path)
    options = parser.parse_args()
    engine = options.engine.read_bytes()
    page = html(packed(engine)).encode()
    write_whole(options.out, page)
    print(f"Page: {options.out} ({len(page) / 1e6:.2f} MB)")
    if options.folder:
        write_folder(options.folder, engine)
        print(f"Folder for a web server: {options.folder}")


if __name__ == "__main__":
    main()
