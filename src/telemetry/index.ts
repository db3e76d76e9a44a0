/**
 * Runs as traces and measurements of OpenTelemetry.
 *
 * @module statewire/telemetry
 */

export { type TelemetryOptions, type TracedRun, telemetry } from './telemetry.ts'
