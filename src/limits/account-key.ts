/** A key in the state store that belongs to an account. The braces keep all of an account's in one place of a cluster. */
export function accountKey(purpose: string, account: string, rest: string): string {
  return `${purpose}\n{${encodeURIComponent(account)}}\n${rest}`;
}
