#!/bin/sh
# A server of the Model Context Protocol with one tool: one JSON message a line, on its standard input and output.
tool='{"name": "high_water", "description": "Tells when the water is high", "inputSchema": {"type": "object"}}'
while read -r line; do
  id=$(printf '%s\n' "$line" | sed -n 's/.*"id": *\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) result='{"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "tides", "version": "1"}}' ;;
    *'"tools/list"'*) result="{\"tools\": [$tool]}" ;;
    *'"tools/call"'*) result='{"content": [{"type": "text", "text": "03:10 and 15:40"}]}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc": "2.0", "id": %s, "result": %s}\n' "$id" "$result"
done
