/** Times in UTC, without the clock of the platform, which the core must not know. */

const DAY_MS = 86_400_000;

/** The day of a time in UTC, such as `2026-11-22` (civil from days, H. Hinnant). */
export function dayOf(at: number): string {
  const days = Math.floor(at / DAY_MS) + 719_468;
  const era = Math.floor(days / 146_097);
  const dayOfEra = days - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1_460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shifted = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * shifted + 2) / 5) + 1;
  const month = shifted < 10 ? shifted + 3 : shifted - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  return `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
}

/** A time as ISO 8601 has it, such as `2026-11-22T21:20:00.123Z`. */
export function isoTime(at: number): string {
  const ms = ((at % DAY_MS) + DAY_MS) % DAY_MS;
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  const time = `${two(ms / 3_600_000)}:${two((ms / 60_000) % 60)}:${two((ms / 1_000) % 60)}`;
  return `${dayOf(at)}T${time}.${String(Math.floor(ms % 1_000)).padStart(3, '0')}Z`;
}
