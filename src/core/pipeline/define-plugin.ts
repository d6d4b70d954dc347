import type { Plugin, PluginAnswer } from '../../contracts/plugin.ts';
import type { ServerToolDefinition } from '../../contracts/server-tool.ts';

/** Gives a plugin back as it is, with the types of its options and state found by the compiler. */
export function definePlugin<Options = {}, State = undefined>(plugin: Plugin<Options, State>): Plugin<Options, State> {
  return plugin;
}

/** Gives a server tool back as it is, with the type of its options found by the compiler. */
export function defineServerTool<Options = {}>(tool: ServerToolDefinition<Options>): ServerToolDefinition<Options> {
  return tool;
}

/** An answer of plain text, for plugins that answer by themselves. */
export function textAnswer(text: string, facts: Omit<PluginAnswer, 'choices'> = {}): PluginAnswer {
  return {
    ...facts,
    choices: [
      {
        index: 0,
        finish_reason: 'stop',
        native_finish_reason: null,
        logprobs: null,
        message: { role: 'assistant', content: text, refusal: null, reasoning: null },
      },
    ],
  };
}
