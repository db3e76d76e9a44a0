import { builtModule } from '../built.mjs'
import { cpuOf } from './cpu.mjs'

const entries = { floor: './dependencies.mjs', statewire: builtModule() }

/** Importing it in a fresh process, in ms. */
export const load = async ({ contender }) => {
  const { cpu, wall } = await cpuOf(() => import(entries[contender]))
  return { cpu: cpu / 1000, wall: wall / 1000 }
}
