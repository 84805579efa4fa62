"""SQL over model outputs with DataFusion: which tools are called how often, and in which dialect.

    python datafusion_udf.py outputs.parquet --column output
"""

import argparse

import datafusion
import toolglot.datafusion

QUERY = """
    select call['name'] as tool, call['dialect'] as dialect, call['state'] as state, count(*) as calls
    from (select unnest(toolglot_parse("{column}")['calls']) as call from outputs)
    group by tool, dialect, state
    order by calls desc, tool, dialect, state
"""


def main():
    asked = argparse.ArgumentParser(description="Counts the calls in model outputs.")
    asked.add_argument("source", help="a Parquet file, or a folder of them")
    asked.add_argument("--column", default="output", help="the column of the outputs [default: output]")
    given = asked.parse_args()
    context = datafusion.SessionContext()
    context.register_parquet("outputs", given.source)
    context.register_udf(toolglot.datafusion.parse_udf(columns=["calls"]))
    for row in context.sql(QUERY.format(column=given.column.replace('"', '""'))).to_pylist():
        print(f"{row['calls']:8} {row['tool']} ({row['dialect']}, {row['state']})")


if __name__ == "__main__":
    main()
