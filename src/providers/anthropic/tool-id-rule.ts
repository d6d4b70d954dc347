import type { ToolIdRule } from '../tool-ids.ts';

/** Ids of tool calls on this wire are letters, digits, `_` and `-`. */
export const TOOL_ID_RULE: ToolIdRule = {
  allowed: /^[a-zA-Z0-9_-]+$/,
  replace: (id, attempt) => `${id.replace(/[^a-zA-Z0-9_-]/g, '_')}${attempt === 0 ? '' : `_${attempt}`}`,
};
