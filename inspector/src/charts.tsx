import type { ComponentChildren, JSX } from 'preact';
import { dateTime, fineCeiling } from './format.ts';

/** A line of values over time. What was not measured leaves a gap. */
export function Sparkline({
  values,
  label,
  width = 150,
  height = 22,
}: {
  readonly values: readonly (number | undefined)[];
  readonly label: string;
  readonly width?: number;
  readonly height?: number;
}): JSX.Element {
  const most = Math.max(...values.map((value) => value ?? 0), 1e-9);
  const step = width / Math.max(1, values.length - 1);
  const y = (value: number): number => height - 2 - (value / most) * (height - 5);
  const runs: string[][] = [[]];
  for (const [index, value] of values.entries()) {
    if (value === undefined) runs.push([]);
    else runs.at(-1)?.push(`${(index * step).toFixed(1)},${y(value).toFixed(1)}`);
  }
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      role="img"
      aria-label={label}
    >
      <line x1="0" x2={width} y1={height - 1.5} y2={height - 1.5} class="axis" />
      {runs.map((run) =>
        run.length === 1 ? (
          <circle cx={run[0]?.split(',')[0]} cy={run[0]?.split(',')[1]} r="1.6" />
        ) : run.length > 1 ? (
          <polyline points={run.join(' ')} />
        ) : null,
      )}
    </svg>
  );
}

/** A share from 0 to 1 as a bar with its number beside it. */
export function Meter({ share, text }: { readonly share: number; readonly text: string }): JSX.Element {
  return (
    <span class="meter">
      <span class="meter-track" aria-hidden="true">
        <span class="meter-fill" style={{ width: `${Math.round(Math.min(1, Math.max(0, share)) * 100)}%` }} />
      </span>
      <span class="number">{text}</span>
    </span>
  );
}

/** A small note that explains a word of the page where it stands. */
export function Hint({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return <p class="hint">{children}</p>;
}

/** A slot of time of a chart. */
interface Slot {
  readonly at: number;
}

/** Bars over time, on an axis that begins at 0. What was not measured leaves a gap. */
export function TimeChart<Shown extends Slot>({
  title,
  slots,
  value,
  text,
  bad = false,
}: {
  readonly title: string;
  readonly slots: readonly Shown[];
  readonly value: (slot: Shown) => number | undefined;
  readonly text: (value: number) => string;
  /** Whether the values are failures. */
  readonly bad?: boolean;
}): JSX.Element {
  const width = 560;
  const height = 120;
  const floor = height - 16;
  const values = slots.map(value);
  const highest = Math.max(0, ...values.map((one) => one ?? 0));
  const most = fineCeiling(Math.max(highest, 1e-9));
  const step = width / Math.max(1, slots.length);
  const isLong = (slots.at(-1)?.at ?? 0) - (slots[0]?.at ?? 0) > 2 * 86_400_000;
  const label = (at: number): string => (isLong ? dateTime(at).slice(5, 10) : dateTime(at).slice(11, 16));
  const marks = slots.filter((_, index) => index % Math.ceil(slots.length / 6) === 0);
  const shown = values.filter((one) => one !== undefined);
  return (
    <figure class={bad ? 'chart failures' : 'chart'}>
      <figcaption>
        {title}
        <span class="served">{highest === 0 ? 'none' : `at most ${text(highest)}`}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`${title}: ${shown.length === 0 || highest === 0 ? 'none' : `from ${text(Math.min(...shown))} to ${text(highest)}, lately ${text(shown.at(-1) ?? 0)}`}`}
      >
        <line class="axis" x1="0" x2={width} y1={floor + 0.5} y2={floor + 0.5} />
        <line class="axis fine" x1="0" x2={width} y1="12.5" y2="12.5" />
        {highest > 0 && (
          <text x="2" y="9">
            {text(most)}
          </text>
        )}
        {slots.map((slot, index) => {
          const one = values[index];
          if (one === undefined || one === 0) return null;
          const size = Math.max(1.5, (one / most) * (floor - 12));
          return (
            <rect
              key={slot.at}
              x={(index * step + step * 0.1).toFixed(2)}
              y={(floor - size).toFixed(2)}
              width={(step * 0.8).toFixed(2)}
              height={size.toFixed(2)}
            >
              <title>{`${dateTime(slot.at).slice(0, 16)}: ${text(one)}`}</title>
            </rect>
          );
        })}
        {marks.map(({ at }) => (
          <text key={at} x={((slots.findIndex((slot) => slot.at === at) + 0.1) * step).toFixed(1)} y={height - 4}>
            {label(at)}
          </text>
        ))}
      </svg>
    </figure>
  );
}
