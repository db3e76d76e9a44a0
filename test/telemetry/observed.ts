import { context, metrics, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { onTestFinished } from 'vitest'

/** A program that has set up OpenTelemetry, for one test. */
export type Observed = {
  /** The spans that have ended, in the order of their ends. */
  readonly spans: ReadableSpan[]
  /** The one span of this name. */
  span(name: string): ReadableSpan
  /** The spans as a tree, by their names, in the order of their starts. */
  tree(): string
  /** The measurements. */
  measured(): Promise<Measurement[]>
}

export type Measurement = { name: string; attributes: object; count: number; sum: number | undefined }

export const observe = (): Observed => {
  const exporter = new InMemorySpanExporter()
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({
    exporter: metricExporter,
    exportIntervalMillis: 3_600_000,
  })
  const tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const meters = new MeterProvider({ readers: [reader] })
  trace.setGlobalTracerProvider(tracers)
  metrics.setGlobalMeterProvider(meters)
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  onTestFinished(async () => {
    for (const api of [trace, metrics, context, propagation]) api.disable()
    await Promise.all([tracers.shutdown(), meters.shutdown()])
  })
  return {
    get spans() {
      return exporter.getFinishedSpans()
    },
    span(name) {
      const [found, ...others] = this.spans.filter((span) => span.name === name)
      if (!found || others.length > 0)
        throw new Error(`There are ${found ? 'several' : 'no'} spans ${name}:\n${this.tree()}`)
      return found
    },
    tree() {
      return treeOf(this.spans)
    },
    async measured() {
      await reader.forceFlush()
      const all =
        metricExporter
          .getMetrics()
          .at(-1)
          ?.scopeMetrics.flatMap(({ metrics: each }) => each) ?? []
      return all.flatMap(({ descriptor, dataPoints }) =>
        dataPoints.map(({ attributes, value }) => ({
          name: descriptor.name,
          attributes,
          count: typeof value === 'number' ? 1 : value.count,
          sum: typeof value === 'number' ? value : value.sum,
        })),
      )
    },
  }
}

const treeOf = (spans: readonly ReadableSpan[]): string => {
  const ids = new Set(spans.map((span) => span.spanContext().spanId))
  const inOrder = spans.toSorted((a, b) => startOf(a) - startOf(b))
  const lines = (above: string | undefined, depth: number): string[] =>
    inOrder
      .filter(({ parentSpanContext: parent }) =>
        above === undefined ? !parent || !ids.has(parent.spanId) : parent?.spanId === above,
      )
      .flatMap((span) => [
        `${'  '.repeat(depth)}${span.name}${span.status.code === 2 ? ' !' : ''}`,
        ...lines(span.spanContext().spanId, depth + 1),
      ])
  return lines(undefined, 0).join('\n')
}

/** Exported spans that begin in the same microsecond keep the order of their ends. */
const startOf = ({ startTime: [seconds, nanos] }: ReadableSpan): number => seconds * 1e6 + nanos / 1e3
