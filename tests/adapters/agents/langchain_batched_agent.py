"""LangChain's own middleware, with one interrupt for each turn."""

from langchain_hitl import run_in

run_in("batched")
