import type { Command } from '../command.ts'
import { chat } from './chat.ts'
import { demo } from './demo.ts'
import { doctor } from './doctor.ts'
import { graph } from './graph.ts'
import { inspect } from './inspect.ts'
import { models } from './models.ts'
import { run } from './run.ts'
import { runs } from './runs.ts'

export const commands: readonly Command[] = [chat, run, inspect, runs, graph, models, doctor, demo]
