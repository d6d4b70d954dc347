import {
  type AnswerScript,
  type FunctionTool,
  type JsonObject,
  type NormalizedRequest,
  type ServerToolDefinition,
  type SimulatedAnswer,
  type SimulatedToolCall,
  defineServerTool,
} from 'signalbox';

/** A server tool that says what it was asked, as often as it is asked. */
export function echoTool(
  type: `router:${string}` = 'router:echo',
  more: Partial<ServerToolDefinition<JsonObject>> = {},
): ServerToolDefinition<JsonObject> {
  return defineServerTool<JsonObject>({
    type,
    parseOptions: (options) => ({ ok: true, options }),
    describe: () => ({
      description: 'Says what it is told.',
      parameters: { type: 'object', properties: { text: { type: 'string' } } },
    }),
    execute: ({ text }) => ({ result: `echo of ${typeof text === 'string' ? text : 'nothing'}` }),
    ...more,
  });
}

/** A function that the caller runs. */
export const LOOK_UP: FunctionTool = {
  type: 'function',
  function: { name: 'look_up', parameters: { type: 'object', properties: {} } },
};

/** A call of a tool by the model. */
export function call(name: string, args: JsonObject | string = {}): SimulatedToolCall {
  return { name, arguments: args };
}

/** The model of a test: what it says turn by turn, the last for ever; and the requests that it got. */
export function turns(...answers: readonly (string | SimulatedAnswer)[]): {
  readonly script: AnswerScript;
  readonly requests: NormalizedRequest[];
} {
  const requests: NormalizedRequest[] = [];
  return {
    requests,
    script(request) {
      requests.push(request);
      // A new conversation begins again.
      const turn = request.messages.filter((message) => message.role === 'assistant').length;
      return answers[Math.min(turn, answers.length - 1)];
    },
  };
}
