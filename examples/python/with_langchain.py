"""LangChain with a model that writes its calls into its text."""

from gateway import gateway
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from text_server import text_server


@tool
def weather(city: str) -> str:
    """Tells the weather of a city."""
    return "rain"


with text_server() as upstream, gateway(upstream, "hermes") as address:
    model = ChatOpenAI(model="m", base_url=address, api_key="none").bind_tools([weather])
    messages = [HumanMessage("How is the weather in Leith?")]
    reply = model.invoke(messages)
    assert [call["args"] for call in reply.tool_calls] == [{"city": "Leith"}], reply
    messages += [reply, *(weather.invoke(call) for call in reply.tool_calls)]
    print(model.invoke(messages).content)

    streamed = None
    for chunk in model.stream(messages[:1]):
        streamed = chunk if streamed is None else streamed + chunk
    assert [call["name"] for call in streamed.tool_calls] == ["weather"], streamed
