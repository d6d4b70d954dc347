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

/** What a plugin that may take part unasked looks for, where that is known without calling it. */
export type UnaskedFor = 'files' | 'short_context';

/** By the function that decides: who replaces it in a copy of the plugin replaces what it looks for. */
const UNASKED_FOR = new WeakMap<object, UnaskedFor>();

/**
 * Marks a {@link Plugin.runsUnasked} that says no to every request without files, or of whose endpoints none has a context
 * of at most {@link SHORT_CONTEXT} tokens, so that it is not called for those: nearly all.
 */
export function unaskedFor(what: UnaskedFor, decides: NonNullable<Plugin['runsUnasked']>): typeof decides {
  UNASKED_FOR.set(decides, what);
  return decides;
}

/** What a plugin looks for that may take part unasked; undefined where that is only known by calling it. */
export function whatItLooksFor({ runsUnasked }: Pick<Plugin, 'runsUnasked'>): UnaskedFor | undefined {
  return runsUnasked && UNASKED_FOR.get(runsUnasked);
}

/** Tokens of a context up to which it counts as short. */
export const SHORT_CONTEXT = 8_192;

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
