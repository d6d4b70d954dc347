const SECONDS_OF_A_DAY = 86_400;

/** Unix seconds of the midnight (UTC) that begins a day `YYYY-MM-DD` or a month `YYYY-MM`; undefined for others. */
export function unixSecondsOfDay(day: string): number | undefined {
  const match = /^(\d{4})-(\d{2})(?:-(\d{2}))?$/.exec(day);
  if (match === null) return undefined;
  const [year, month, date] = [Number(match[1]), Number(match[2]), Number(match[3] ?? 1)];
  if (month < 1 || month > 12 || date < 1 || date > daysIn(year, month)) return undefined;
  return (daysBeforeYear(year) - daysBeforeYear(1_970) + daysBeforeMonth(year, month) + date - 1) * SECONDS_OF_A_DAY;
}

/** Minutes after midnight UTC of a time such as `16:30:00Z` or `08:00+02:00`; undefined for others. */
export function minuteOfTime(time: string): number | undefined {
  const match = /^(\d{2}):(\d{2})(?::\d{2}(?:\.\d+)?)?(?:Z|([+-])(\d{2}):(\d{2}))$/.exec(time);
  if (match === null) return undefined;
  const [hours, minutes] = [Number(match[1]), Number(match[2])];
  const away = Number(match[4] ?? 0) * 60 + Number(match[5] ?? 0);
  if (hours > 23 || minutes > 59 || away >= MINUTES_OF_A_DAY) return undefined;
  const minute = hours * 60 + minutes + (match[3] === '+' ? -away : away);
  return (minute + MINUTES_OF_A_DAY) % MINUTES_OF_A_DAY;
}

const MINUTES_OF_A_DAY = 1_440;

function daysIn(year: number, month: number): number {
  if (month === 2) return isLeap(year) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

function daysBeforeMonth(year: number, month: number): number {
  let days = 0;
  for (let earlier = 1; earlier < month; earlier += 1) days += daysIn(year, earlier);
  return days;
}

function daysBeforeYear(year: number): number {
  const last = year - 1;
  return 365 * year + Math.floor(last / 4) - Math.floor(last / 100) + Math.floor(last / 400);
}

function isLeap(year: number): boolean {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
}
