"""Pydantic AI with a model that writes its calls into its text."""

import asyncio

from gateway import gateway
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from text_server import text_server

called = []


def weather(city: str) -> str:
    """Tells the weather of a city."""
    called.append(city)
    return "rain"


async def main(address):
    agent = Agent(OpenAIChatModel("m", provider=OpenAIProvider(base_url=address, api_key="none")), tools=[weather])
    print((await agent.run("How is the weather in Leith?")).output)
    async with agent.run_stream("How is the weather in Leith?") as streamed:
        print(await streamed.get_output())


with text_server() as upstream, gateway(upstream, "hermes") as address:
    asyncio.run(main(address))
assert called == ["Leith", "Leith"], called
