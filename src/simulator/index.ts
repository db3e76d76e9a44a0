/**
 * A provider that needs no key and no network, for trying things out and for tests.
 *
 * @module statewire/simulator
 */

export { type Simulator, type SimulatorOptions, startSimulator } from './startSimulator.ts'
