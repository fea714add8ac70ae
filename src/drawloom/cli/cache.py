"""`drawloom cache`: what the cache of compiled kernels holds, and emptying it."""

import click


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Show the cache of compiled kernels; `drawloom cache clear` empties it.

    \b
    DRAWLOOM_CACHE=off          runs without it
    DRAWLOOM_CACHE_DIR=FOLDER   puts it there (default: drawloom/kernels in XDG_CACHE_HOME or ~/.cache)
    DRAWLOOM_CACHE_LIMIT=500M   its largest size (default: 1G); the least recently used entries go first
    """
    if ctx.invoked_subcommand is not None:
        return
    from drawloom.cli.devices import size_text
    from drawloom.runtime.cache import DiskCache, cache_folder, cache_is_on, cache_limit

    usage = DiskCache(cache_folder(), cache_limit()).usage()
    on = cache_is_on()
    if as_json:
        import json

        listing = {
            "folder": usage.folder,
            "entries": usage.entries,
            "bytes": usage.size,
            "limit_bytes": usage.limit,
            "on": on,
        }
        click.echo(json.dumps(listing, indent=2))
        return
    click.echo(f"folder   {usage.folder}")
    click.echo(f"entries  {usage.entries}")
    click.echo(f"size     {size_text(usage.size)} of {size_text(usage.limit)}")
    if not on:
        click.echo("off      by DRAWLOOM_CACHE")


@command.command()
def clear() -> None:
    """Remove every compiled kernel from the cache."""
    from drawloom.cli.devices import size_text
    from drawloom.runtime.cache import DiskCache, cache_folder, cache_limit

    removed = DiskCache(cache_folder(), cache_limit()).clear()
    kernels = "1 kernel" if removed.entries == 1 else f"{removed.entries} kernels"
    click.echo(f"removed {kernels}, {size_text(removed.size)}, from {removed.folder}")
