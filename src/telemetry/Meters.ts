import { type Attributes, type Histogram, type MeterProvider, metrics } from '@opentelemetry/api'
import type { Usage } from '../messages/result.ts'
import { attribute, metric, scope } from './conventions.ts'

type Histograms = Record<keyof typeof metric, Histogram>

/** The histograms of all runs. */
export class Meters {
  readonly #made = new WeakMap<MeterProvider, Histograms>()

  duration(seconds: number, attributes: Attributes): void {
    this.#histograms.duration.record(seconds, attributes)
  }

  timeToFirstChunk(seconds: number, attributes: Attributes): void {
    this.#histograms.timeToFirstChunk.record(seconds, attributes)
  }

  tokens({ inputTokens, outputTokens }: Usage, attributes: Attributes): void {
    const { tokens } = this.#histograms
    if (inputTokens !== undefined)
      tokens.record(inputTokens, { ...attributes, [attribute.tokenType]: 'input' })
    if (outputTokens !== undefined)
      tokens.record(outputTokens, { ...attributes, [attribute.tokenType]: 'output' })
  }

  /** Looked up each time: unlike a tracer, a meter that was asked for before there was an SDK never measures. */
  get #histograms(): Histograms {
    const provider = metrics.getMeterProvider()
    const made = this.#made.get(provider) ?? histogramsOf(provider)
    this.#made.set(provider, made)
    return made
  }
}

const histogramsOf = (provider: MeterProvider): Histograms => {
  const meter = provider.getMeter(scope.name, undefined, { schemaUrl: scope.schemaUrl })
  const histogram = ({ name, options }: (typeof metric)[keyof typeof metric]) =>
    meter.createHistogram(name, options)
  return {
    duration: histogram(metric.duration),
    timeToFirstChunk: histogram(metric.timeToFirstChunk),
    tokens: histogram(metric.tokens),
  }
}
