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
    from drawloom.runtime.machine import Device, devices

    found = devices()
    if as_json:
        import json

        listing = {"devices": [device.as_dict() for device in found], "no_gpu_because": probe().reason}
        click.echo(json.dumps(listing, indent=2))
        return
    rows = [["name", "device", "cores", "memory", "details"]]
    for device in found:
        rows.append([device.name, device.description, str(device.cores), size_text(device.memory), details(device)])
    reference = Device("reference", "reference", "interpreter, checks every access", 1, 0)
    rows.append([reference.name, reference.description, "1", "", ""])
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
    return f"{device.vector_bits}-bit vectors: {' '.join(device.features)}"


def size_text(size: int) -> str:
    """Bytes with a unit of 1024."""
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.4g} {unit}"
        amount /= 1024
    return f"{amount:.4g} TiB"
