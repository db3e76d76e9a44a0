export { type Simulator, type SimulatorOptions, startSimulator } from './startSimulator.ts'
