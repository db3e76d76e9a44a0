/**
 * Runs as traces and measurements of OpenTelemetry.
 *
 * @module statewire/telemetry
 */

export type { TracedRun } from './Tracing.ts'
export { type TelemetryOptions, telemetry } from './telemetry.ts'
