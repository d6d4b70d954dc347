/**
 * Starts to count, and returns a function that tells the milliseconds of CPU that this process has used since. Limits
 * on work are set in these: time on the wall also counts what other processes do on a busy machine.
 */
export function cpuClock(): () => number {
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
}
