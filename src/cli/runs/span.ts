import { UsageError } from '../exit.ts'

const units = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** A time in its largest unit: `5 min`. */
export const spanText = (ms: number): string => {
  if (ms < units.m) return `${Math.max(0, Math.round(ms / units.s))} s`
  if (ms < units.h) return `${Math.round(ms / units.m)} min`
  if (ms < 2 * units.d) return `${Math.round(ms / units.h)} h`
  return `${Math.round(ms / units.d)} d`
}

/** The moment that lies this long back: `30d`. */
export const momentBefore = (typed: string, now: number): Date => {
  const [, count, unit] = /^(\d{1,6})\s*([mhdw])$/.exec(typed) ?? []
  if (count === undefined || !isUnit(unit))
    throw new UsageError(`"${typed}" is not a time: write 30d, 12h, 45m or 2w.`)
  return new Date(now - Number(count) * units[unit])
}

const isUnit = (unit: string | undefined): unit is keyof typeof units =>
  unit !== undefined && Object.hasOwn(units, unit)
