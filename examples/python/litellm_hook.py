"""A hook for the proxy of LiteLLM: a model that writes its calls into its text gets tools. In the proxy's configuration:

    litellm_settings:
      callbacks: litellm_hook.hook
"""

import toolglot
from litellm import ModelResponse
from litellm.integrations.custom_logger import CustomLogger
from litellm.types.utils import ModelResponseStream


class Hook(CustomLogger):
    def __init__(self, dialect):
        super().__init__()
        self.dialect, self.engine = dialect, toolglot.Engine(dialect)

    async def async_pre_call_hook(self, user_api_key_dict, cache, data, call_type):
        """Tells the model of the tools in the system message, and keeps them from the server, which knows none."""
        if call_type in ("completion", "acompletion") and data.get("tools"):
            tools = toolglot.Tools(data.pop("tools"))
            data.pop("tool_choice", None)
            data["messages"] = tools.messages(data["messages"], self.dialect, engine=self.engine)
            data.setdefault("metadata", {})["toolglot_tools"] = list(tools.definitions)
        return data

    async def async_post_call_success_hook(self, data, user_api_key_dict, response):
        if isinstance(response, ModelResponse) and (declared := data["metadata"].get("toolglot_tools")):
            return ModelResponse(**toolglot.to_completion(response, engine=self.engine, tools=declared))
        return response

    async def async_post_call_streaming_iterator_hook(self, user_api_key_dict, response, request_data):
        declared = request_data["metadata"].get("toolglot_tools")
        if declared:
            response = toolglot.ato_openai(response, engine=self.engine, tools=declared)
        async for chunk in response:
            yield ModelResponseStream(**chunk) if declared else chunk


hook = Hook("hermes")
