import { type AnyStateMachine, createMachine } from 'xstate'

type Alternative = { target?: string; guard?: string; reenter?: boolean }
type Config = {
  id?: string
  type?: 'parallel' | 'final'
  initial?: string
  states?: Record<string, Config>
  on?: Record<string, Alternative[]>
}

/** A machine of up to three levels with transitions between any of its states, the same for the same seed. */
export const randomMachine = (seed: number): AnyStateMachine => {
  let state = seed
  const random = () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return state / 4_294_967_296
  }
  const upTo = (limit: number) => Math.floor(random() * limit)
  const all: { id: string; config: Config }[] = []

  const build = (id: string, depth: number): Config => {
    const size = depth === 0 ? 2 + upTo(6) : depth < 3 && random() < 0.3 ? 2 + upTo(3) : 0
    const keys = Array.from({ length: size }, (_, index) => `s${all.length}${'abcdefgh'[index]}`)
    const states = Object.fromEntries(keys.map((key) => [key, build(`${id}.${key}`, depth + 1)]))
    const config = configOf(keys, states)
    all.push({ id, config })
    return config
  }
  const configOf = (keys: string[], states: Record<string, Config>): Config => {
    if (keys.length === 0) return random() < 0.1 ? { type: 'final' } : {}
    if (random() < 0.2) return { type: 'parallel', states }
    return { initial: keys[upTo(keys.length)] ?? '', states }
  }

  const root = build('random', 0)
  for (let count = Math.ceil(all.length * (1 + random())); count > 0; count -= 1) {
    const source = all[upTo(all.length)]?.config
    if (!source || source.type === 'final') continue
    const event = `event${upTo(4)}`
    source.on = { ...source.on }
    source.on[event] = [
      ...(source.on[event] ?? []),
      {
        ...(random() < 0.85 && { target: `#${all[upTo(all.length)]?.id}` }),
        ...(random() < 0.4 && { guard: `isSomething${count}` }),
        ...(random() < 0.2 && { reenter: true }),
      },
    ]
  }
  return createMachine({ ...root, id: 'random' } as Parameters<typeof createMachine>[0])
}
