/** One server-sent event of this wire: its name stands before its data as well as in it. */
export function eventFrame(event: { readonly type: string; readonly [member: string]: unknown }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** One event from JSON text. Line breaks in JSON mean nothing, and would end the event's data. */
export function rawFrame(name: string, json: string): string {
  const line = /[\r\n]/.test(json) ? json.replaceAll(/[\r\n]+/g, ' ') : json;
  return `event: ${name.replaceAll(/[\r\n]/g, '')}\ndata: ${line}\n\n`;
}
