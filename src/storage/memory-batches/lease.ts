/** Who holds something, and until when. */
export interface Lease {
  token?: string | undefined;
  /** Epoch milliseconds; 0 when nobody holds it. */
  leaseUntil: number;
}

/** True while a token holds it. */
export function holds({ token: held, leaseUntil }: Lease, token: string, now: number): boolean {
  return held === token && leaseUntil > now;
}

/** Gives it back. */
export function free(lease: Lease): void {
  lease.token = undefined;
  lease.leaseUntil = 0;
}
