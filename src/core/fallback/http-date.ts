const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** The one form that is still written. */
const IMF_FIXDATE =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/;
/** Two obsolete forms that must still be read. */
const RFC_850 =
  /^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\d{2}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/;
const ASCTIME =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) (?<time>\d{2}:\d{2}:\d{2}) (?<year>\d{4})$/;

/**
 * Epoch milliseconds of a date as HTTP writes it, in any of its three forms; undefined for everything else, days that
 * do not exist included. The platform's own parser guesses, and would take `120` for a year.
 */
export function parseHttpDate(value: string | undefined): number | undefined {
  const text = value?.trim() ?? '';
  const parts = (IMF_FIXDATE.exec(text) ?? RFC_850.exec(text) ?? ASCTIME.exec(text))?.groups;
  if (parts === undefined) return undefined;
  const { day = '', month = '', year = '', time = '' } = parts;
  const [hours = 0, minutes = 0, seconds = 0] = time.split(':').map(Number);
  const monthIndex = MONTHS.indexOf(month);
  const fullYear = year.length === 2 ? centuryOf(Number(year)) : Number(year);
  if (monthIndex < 0 || hours > 23 || minutes > 59 || seconds > 60) return undefined;
  const date = Number(day);
  if (date < 1 || date > daysIn(monthIndex, fullYear)) return undefined;
  return ((daysBefore(fullYear, monthIndex) + date - 1) * 86_400 + hours * 3_600 + minutes * 60 + seconds) * 1_000;
}

/** Two digits mean this century up to 69, and the last one from 70 on. */
function centuryOf(twoDigits: number): number {
  return twoDigits < 70 ? 2_000 + twoDigits : 1_900 + twoDigits;
}

function isLeap(year: number): boolean {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
}

function daysIn(month: number, year: number): number {
  if (month === 1) return isLeap(year) ? 29 : 28;
  return [3, 5, 8, 10].includes(month) ? 30 : 31;
}

/** Days from 1970-01-01 to the first day of a month. */
function daysBefore(year: number, month: number): number {
  const last = year - 1;
  let days = 365 * (year - 1_970) + leapYearsUpTo(last) - leapYearsUpTo(1_969);
  for (let index = 0; index < month; index += 1) days += daysIn(index, year);
  return days;
}

function leapYearsUpTo(year: number): number {
  return Math.floor(year / 4) - Math.floor(year / 100) + Math.floor(year / 400);
}
