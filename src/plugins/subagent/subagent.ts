/** The server tool `router:subagent`: a model delegates a task to a cheaper one. */
import { checkShape } from '../../platform/check-options.ts';
import type { ServerToolDefinition, ToolContext, ToolOutcome } from '../../contracts/server-tool.ts';
import { defineServerTool } from '../../core/pipeline/define-plugin.ts';
import { parseSubagentOptions, type SubagentOptions } from '../../protocol/inner-model-options.ts';
import {
  askHelper,
  HELPER_TOOL_OPTIONS,
  helperModel,
  helperName,
  type HelperToolOptions,
  reasonOfFailure,
  textFunction,
  textOfAnswer,
} from '../services/inner-call/helper-model.ts';
import { SMALL } from '../services/inner-call/rank-models.ts';
import * as read from '../../platform/json.ts';

const DEFAULT_INSTRUCTIONS =
  'You carry out one task that another model has handed to you. Do exactly what it describes, with nothing but what it ' +
  'tells you and the tools you have. Give the result itself, without talk around it; if it cannot be done, say why.';

/**
 * The server tool `router:subagent` (gaps 2.1): the model hands a self-contained task to a smaller one, which sees
 * nothing but the task and may have server tools of its own. A request may offer several with names of their own.
 */
export function subagentTool(options: HelperToolOptions = {}): ServerToolDefinition<SubagentOptions> {
  checkShape(HELPER_TOOL_OPTIONS, options, 'subagentTool');
  const { model, timeoutMs = 180_000 } = options;
  return defineServerTool<SubagentOptions>({
    type: 'router:subagent',
    timeoutMs,
    repeatable: true,
    parseOptions: parseSubagentOptions,
    nameOf: (requestedOptions) => helperName('subagent', requestedOptions),
    innerTools: ({ tools }) => tools ?? [],
    describe: ({ name }) =>
      textFunction(
        `Hands a task to ${name === undefined ? 'a worker' : `the worker "${name}"`}, a smaller and faster model: ` +
          'summaries, extraction, drafts, reformatting. Several tasks can be handed out at the same time.',
        {
          task_name: 'A few words by which you will know the task again',
          task_description:
            'The whole task with all that is needed for it: the worker sees nothing else and remembers nothing',
        },
      ),
    execute: ({ task_name: name, task_description: task }, requestedOptions, context) => {
      const taskName = read.text(name) ?? '';
      if (typeof task === 'string' && task.trim() !== '') {
        return work(taskName, task, { ...requestedOptions, model: requestedOptions.model ?? model }, context);
      }
      const error = 'task_description must be a non-empty string';
      return { result: { status: 'error', task_name: taskName, error } };
    },
  });
}

async function work(
  taskName: string,
  task: string,
  { inherit_functions: _, inherited_function_names: __, ...requestedOptions }: SubagentOptions,
  context: ToolContext,
): Promise<ToolOutcome> {
  const model = helperModel(requestedOptions, SMALL, context);
  const instructions = requestedOptions.instructions ?? DEFAULT_INSTRUCTIONS;
  try {
    const messages = [{ role: 'user', content: task }] as const;
    const answer = await askHelper({ model, instructions, messages }, requestedOptions, context);
    return { result: { status: 'ok', model: answer.model, task_name: taskName, outcome: textOfAnswer(answer) } };
  } catch (thrown) {
    context.signal.throwIfAborted();
    return { result: { status: 'error', task_name: taskName, error: reasonOfFailure(thrown) } };
  }
}
