"""`drawloom devices`: what this machine can run kernels on, as a table or as JSON."""

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def command(as_json: bool) -> None:
    """List the devices of this machine.

    `cpu` is always there; GPUs need an NVIDIA driver and the `cuda` extra. Kernels also run on `reference`,
    a slow interpreter that checks every access.
    """
    from drawloom.runtime.driver import probe
    from drawloom.runtime.machine import device, devices

    found = [*devices(), device("reference")]
    if as_json:
        import json

        listing = {"devices": [each.as_dict() for each in found], "no_gpu_because": probe().reason}
        click.echo(json.dumps(listing, indent=2))
        return
    rows = [["name", "device", "cores", "memory", "details"]]
    for each in found:
        memory = size_text(each.memory) if each.memory else ""
        rows.append([each.name, each.description, str(each.cores), memory, details(each)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    if probe().reason:
        click.echo(f"\nno GPU: {probe().reason}")


def details(device: object) -> str:
    from drawloom.runtime.machine import Device

    assert isinstance(device, Device)
    if device.kind == "cuda":
        return f"compute {device.compute[0]}.{device.compute[1]}"
    if device.kind == "reference":
        return ""
    return f"{device.vector_bits}-bit vectors: {' '.join(device.features)}"


def size_text(size: int) -> str:
    """Bytes with a unit of 1024."""
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.4g} {unit}"
        amount /= 1024
    return f"{amount:.4g} TiB"
