import type { Attributes } from '@opentelemetry/api'
import type { InspectionEvent } from 'xstate'
import { checkOptions, flag, object, type Rules } from '../messages/optionRules.ts'
import { Meters } from './Meters.ts'
import { type TracedRun, Tracing } from './Tracing.ts'

/** Options of {@link telemetry}. None is required. */
export type TelemetryOptions = {
  /**
   * Whether prompts, answers, arguments, results and the messages of errors are recorded, without credentials and up to
   * 32,000 characters each. Default: `false`.
   */
  captureContent?: boolean
  /** Whether durations and tokens are measured. Default: `true`. */
  metrics?: boolean
  /** For every span of a run: the session, the user. A function is asked once for each run. */
  attributes?: Attributes | ((run: TracedRun) => Attributes)
}

const rules: Rules<TelemetryOptions> = {
  captureContent: flag,
  metrics: flag,
  attributes: (name, value) => (typeof value === 'function' ? undefined : object(name, value)),
}

/**
 * Shows runs to OpenTelemetry, as an inspector: a span for each run, request and call of a tool, and measurements. It
 * uses the SDK that your program has set up; without one, nothing happens.
 *
 * @example
 * const agent = new Agent('openai:gpt-6-luna', { name: 'weather', inspect: telemetry() })
 *
 * @example
 * // Beside another inspector, and with the session of each run.
 * const agent = new Agent('openai:gpt-6-luna', {
 *   inspect: [inspector.inspect, telemetry({ attributes: ({ id }) => ({ 'session.id': id }) })],
 * })
 */
export const telemetry = (options: TelemetryOptions = {}): ((event: InspectionEvent) => void) => {
  checkOptions('The options of telemetry', options, rules)
  const { captureContent = false, metrics = true, attributes = {} } = options
  const attributesOf = typeof attributes === 'function' ? attributes : () => attributes
  return new Tracing({ captureContent, attributesOf, meters: metrics ? new Meters() : undefined }).inspect
}
