"""The OpenAI Agents SDK with a model that writes its calls into its text."""

import asyncio

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from gateway import gateway
from openai import AsyncOpenAI
from text_server import text_server

called = []


@function_tool
def weather(city: str) -> str:
    """Tells the weather of a city."""
    called.append(city)
    return "rain"


async def main(address):
    async with AsyncOpenAI(base_url=address, api_key="none") as client:
        model = OpenAIChatCompletionsModel("m", openai_client=client)
        agent = Agent(name="weather", instructions="Be brief.", model=model, tools=[weather])
        print((await Runner.run(agent, "How is the weather in Leith?")).final_output)
        streamed = Runner.run_streamed(agent, "How is the weather in Leith?")
        async for _ in streamed.stream_events():
            pass
        print(streamed.final_output)


set_tracing_disabled(True)  # It would be sent to OpenAI.
with text_server() as upstream, gateway(upstream, "hermes") as address:
    asyncio.run(main(address))
assert called == ["Leith", "Leith"], called
