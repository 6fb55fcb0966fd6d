"""LangChain's own middleware, with one interrupt for each call."""

from langchain_hitl import run_in

run_in("per_call")
