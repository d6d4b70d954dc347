/** A metric of Prometheus whose series are looked up once. */
import type { LabelName, Labels, Measurement, Series } from '../measurements.ts';

/** One line of a metric, as a registry of `prom-client` reads it. */
interface Sample {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** One whose labels are in two parts: those in `sharedLabels` are written once for all lines that have the same object. */
interface SharedSample extends Sample {
  readonly sharedLabels?: Readonly<Record<string, string>>;
}

/** What a registry reads of a metric. */
interface Read<Line> extends Pick<SeriesMetric, 'name' | 'help' | 'type' | 'aggregator'> {
  readonly values: readonly Line[];
}

/** What was measured under one value of each label. */
interface Counted {
  readonly labels: Readonly<Record<string, string>>;
  /** How many values there were, and of a histogram how many belong to each bound, without the bounds below it. */
  count: number;
  sum: number;
  readonly buckets: number[];
}

/**
 * A metric whose series are found once. Those of `prom-client` put the name of a series together from its labels for
 * each value, which costs more than all the rest of observing a request. A registry reads this one like its own.
 */
export class SeriesMetric {
  /** Written by registries that speak OpenMetrics. */
  name: string;
  readonly help: string;
  readonly type: Measurement['kind'];
  /** How the values of several processes are made one. */
  readonly aggregator = 'sum';
  readonly #labelNames: readonly LabelName[];
  readonly #bounds: readonly number[];
  readonly #known = new Map<string, Counted>();
  /** Those that are shown: in the order of their first values, since the last reset. */
  readonly #shown = new Set<Counted>();

  constructor({ prometheus, description, kind, labels, buckets = [] }: Measurement) {
    this.name = prometheus;
    this.help = description;
    this.type = kind;
    this.#labelNames = labels;
    this.#bounds = buckets;
  }

  /** The series of these labels, the same one for the same values. It is shown from its first value on. */
  series(labels: Labels): Series {
    const complete = completeLabels(this.#labelNames, labels);
    const key = JSON.stringify(Object.values(complete));
    let counted = this.#known.get(key);
    if (counted === undefined) {
      counted = { labels: complete, count: 0, sum: 0, buckets: this.#bounds.map(() => 0) };
      this.#known.set(key, counted);
    }
    const found = counted;
    return (value) => this.#add(found, value);
  }

  /** What registries require, to write it as text. */
  getForPromString(): Promise<Read<SharedSample>> {
    const { name, help, type, aggregator } = this;
    const values = [...this.#shown].flatMap((counted) => this.#samplesOf(counted));
    return Promise.resolve({ name, help, type, aggregator, values });
  }

  /** The same for everybody else. */
  async get(): Promise<Read<Sample>> {
    const { values, ...metric } = await this.getForPromString();
    const whole = values.map(({ sharedLabels, labels, ...line }) => ({
      ...line,
      labels: { ...labels, ...sharedLabels },
    }));
    return { ...metric, values: whole };
  }

  /** Begins anew: nothing is shown until there are values again. */
  reset(): void {
    for (const counted of this.#shown) {
      counted.count = 0;
      counted.sum = 0;
      counted.buckets.fill(0);
    }
    this.#shown.clear();
  }

  #add(counted: Counted, value: number): void {
    if (!Number.isFinite(value) || (value < 0 && this.type === 'counter')) return;
    if (counted.count === 0) this.#shown.add(counted);
    counted.count += 1;
    counted.sum += value;
    const { buckets } = counted;
    let bucket = 0;
    while (value > (this.#bounds[bucket] ?? Infinity)) bucket += 1;
    if (bucket < buckets.length) buckets[bucket] = (buckets[bucket] ?? 0) + 1;
  }

  #samplesOf({ labels, count, sum, buckets }: Counted): readonly SharedSample[] {
    if (this.type !== 'histogram') return [{ labels, value: sum }];
    let below = 0;
    const line = (part: string, own: Sample['labels'], value: number): SharedSample => ({
      metricName: `${this.name}_${part}`,
      labels: own,
      sharedLabels: labels,
      value,
    });
    return [
      ...this.#bounds.map((le, index) => line('bucket', { le }, (below += buckets[index] ?? 0))),
      line('bucket', { le: '+Inf' }, count),
      line('sum', {}, sum),
      line('count', {}, count),
    ];
  }
}

/** All labels, in one order, with a value: those that are unknown are empty. */
export function completeLabels(names: readonly LabelName[], labels: Labels): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, labels[name] ?? '']));
}
