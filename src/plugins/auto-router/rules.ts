/**
 * Signs of a task that no single word gives away. Each is a feature of its own whose weight is learned like all others.
 * Runs of characters are bounded or end at the first other one, so that no text can make one of these slow.
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
