/**
 * The kinds of task that the classifier tells apart, and the scores that say how good a model is at each, in the order
 * in which they are looked for. Before those a score with the name of the task itself counts, then one with the name
 * of its group (`code` for `code:review`); last of all `general`.
 */
const SCORES_OF_TASKS = {
  'code:generation': ['coding'],
  'code:debugging': ['coding'],
  'code:review': ['coding'],
  'code:refactoring': ['coding'],
  'code:explanation': ['coding'],
  'code:testing': ['coding'],
  'code:database': ['coding'],
  'code:devops': ['coding'],
  'data:analysis': ['reasoning', 'coding'],
  math: ['reasoning'],
  logic: ['reasoning'],
  science: ['knowledge', 'reasoning'],
  medicine: ['knowledge'],
  law: ['knowledge'],
  finance: ['knowledge', 'reasoning'],
  'writing:creative': ['creative_writing'],
  'writing:business': ['instruction_following'],
  'writing:marketing': ['creative_writing'],
  'writing:editing': ['instruction_following'],
  translation: ['multilingual'],
  summarization: ['long_context', 'instruction_following'],
  extraction: ['structured_output', 'instruction_following'],
  classification: ['instruction_following'],
  brainstorming: ['creative_writing'],
  planning: ['reasoning'],
  advice: ['chat'],
  knowledge: [],
  tutoring: ['knowledge', 'reasoning'],
  roleplay: ['creative_writing', 'chat'],
  chat: [],
  vision: ['multimodal'],
  agent: ['tool_calling'],
  general: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** A kind of task. `vision` and `agent` are told by the request, not by its words; `general` is anything else. */
export type TaskType = keyof typeof SCORES_OF_TASKS;

/** All kinds of task. */
export const TASK_TYPES = Object.keys(SCORES_OF_TASKS) as readonly TaskType[];

/** Names of the scores that count for a task, the best one first. Works for names of a classifier of your own too. */
export function scoreNamesOf(task: string): readonly string[] {
  const group = task.includes(':') ? [task.slice(0, task.indexOf(':'))] : [];
  const related = Object.hasOwn(SCORES_OF_TASKS, task) ? SCORES_OF_TASKS[task as TaskType] : [];
  return [...new Set([task, ...group, ...related, 'general'])];
}
