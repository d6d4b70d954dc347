import type { ComponentChildren, JSX } from 'preact';

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
