/**
 * Node's own modules where the runtime has them, without an `import`, which other runtimes and bundlers could not follow.
 */

interface NodeProcess {
  getBuiltinModule?: (name: string) => unknown;
}

/**
 * A built-in module of Node, such as `node:crypto`; undefined on runtimes without it. The caller states the type of what
 * it uses. In edge functions, `process` is an imitation whose members throw, and nothing of Node is there.
 */
export function nodeModule<Module>(name: `node:${string}`): Module | undefined {
  const { process, EdgeRuntime } = globalThis as { process?: NodeProcess; EdgeRuntime?: unknown };
  return EdgeRuntime === undefined ? (process?.getBuiltinModule?.(name) as Module | undefined) : undefined;
}
