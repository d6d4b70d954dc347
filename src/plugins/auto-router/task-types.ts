/** The kinds of task that prompts are classified by. */

/**
 * The kinds of task that the classifier distinguishes, and the scores that say how good a model is at each, in the
 * order in which they are looked for. Before those a score with the name of the task itself counts, then one with the
 * name of its group (`code` for `code:review`); last of all `general`.
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

/** A kind of task. `vision` and `agent` follow from the request, not from its words; `general` is anything else. */
export type TaskType = keyof typeof SCORES_OF_TASKS;

/** All kinds of task. */
export const TASK_TYPES = Object.keys(SCORES_OF_TASKS) as readonly TaskType[];

/** Names of the scores that count for a task, the best one first. Works for names of a classifier of your own too. */
export function scoreNamesOf(task: string): readonly string[] {
  return NAMES.get(task) ?? namesFor(task, []);
}

function namesFor(task: string, related: readonly string[]): readonly string[] {
  const group = task.includes(':') ? [task.slice(0, task.indexOf(':'))] : [];
  return [...new Set([task, ...group, ...related, 'general'])];
}

/** Called for every candidate of every request, so they are put together once. */
const NAMES: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(SCORES_OF_TASKS).map(([task, related]) => [task, namesFor(task, related)]),
);

/**
 * Signs of a task that no single word gives away. Each is a feature of its own whose weight is learned like all others.
 * Runs of characters are limited or end at the first other one, so that no text can make one of these slow.
 */
export const RULES: readonly RegExp[] = [
  // Code in a fence, and code without one.
  /```/,
  /[;{}]\s*\n/,
  /(?:=>|\(\)|!==?|===|::|->|&&|\|\|)/,
  /^[ \t]*(?:def|class|function|const|let|import|from|public|fn|func|#include|package)\s/m,
  // What programs say when they break.
  /\bat [\w.$<>]{1,80} ?\(|Traceback|^[ \t]*File "/m,
  /\b\w{0,40}(?:Error|Exception|Panic)\b/,
  /\b(?:undefined|null|NaN|segfault|panic|stack ?trace|exit code|status code [45]\d\d)\b/i,
  /\b(?:assert|expect|describe|jest|pytest|junit|vitest|mocha|rspec|unittest)\b/i,
  // Queries and the shell.
  /\bselect\b[^;]{1,100}\bfrom\b/i,
  /\b(?:sql|postgres(?:ql)?|mysql|sqlite|mongodb|bigquery|snowflake)\b/i,
  /\b(?:docker|kubernetes|k8s|kubectl|terraform|ansible|nginx|systemd|helm|jenkins|ci\/cd|github actions)\b/i,
  /(?:^|\s)(?:sudo|apt|npm|pip|git|cd|ls|curl|ssh|chmod) \S/m,
  // Formulas and figures.
  /\\(?:frac|int|sum|sqrt|lim|begin)|\$[^$\n]{1,80}\$/,
  /\d\s*[-+*/^=×÷]\s*\(?\d|\b[xyz]\s*[-+*/^=]\s*\d|\dx\b/,
  /\d[\d.,]{0,12}\s?%/,
  /[$€£¥]\s?\d|\d\s?(?:€|USD|EUR|dollars?|euros?)/i,
  // Tables and records.
  /^[^,\n]{1,60},[^,\n]{1,60},[^,\n]{1,60}/m,
  /\|[^|\n]{1,60}\|[^|\n]{1,60}\|/,
  /\bjson\b|\byaml\b|\bcsv\b|\bxml\b/i,
  // Letters, lists and pasted texts.
  /^(?:dear|hi|hello|hey|sehr geehrte|liebe|bonjour|estimad|querid)\b[^\n]{0,40}[,!]/im,
  /^[ \t]*(?:[-*•]|\d{1,3}[.)])\s/m,
  /\n\s*\n/,
  /["“«„][^"”»“]{20,}/,
  /https?:\/\//,
  /:\s*\n/,
  /:\s*["“«„']/,
  // Scripts of their own.
  /[\u4e00-\u9fff]/,
  /[\u3040-\u30ff]/,
  /[\u0400-\u04ff]/,
  // How it is said.
  /\?\s*$/,
  /^(?:who|what|when|where|which|how many|how much|wer|was|wann|wo|qui|quand|où|quién|cuándo|dónde)\b/i,
  /^(?:how|why|wie|warum|comment|pourquoi|cómo|por qué)\b/i,
  /^\S+(?:\s+\S+){0,3}\s*[!.?]?$/,
  /\*[^*\n]{3,80}\*/,
];
