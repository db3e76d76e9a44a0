// The tables of models against a public catalogue. `npm run models` fetches the newest one, writes the differences to
// docs/model-differences.md, and the prices to providers/models/priceLists.ts.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { calcPrice } from '@pydantic/genai-prices'
import { describe, expect, it } from 'vitest'
import { priceLists, pricesChecked } from '../../providers/models/priceLists.ts'
import { pricesOf } from '../../providers/models/prices.ts'
import { findProvider } from '../../providers/registry.ts'

const isUpdate = process.env.UPDATE_MODELS === '1'

/** The providers of the catalogue, and ours. */
const providers = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'google',
  mistral: 'mistral',
  deepseek: 'deepseek',
  xai: 'xai',
  groq: 'groq',
  together: 'together',
  fireworks: 'fireworks',
  nvidia: 'nvidia',
  cerebras: 'cerebras',
  moonshotai: 'moonshot',
  zai: 'zai',
  minimax: 'minimax',
  huggingface: 'huggingface',
  'vercel-ai-gateway': 'vercel',
  openrouter: 'openrouter',
  'google-vertex': 'vertex',
  'amazon-bedrock': 'bedrock',
}

type Cost = { input: number; output: number; cacheRead: number; cacheWrite: number }
type Listed = {
  id: string
  type?: string
  input: string[]
  reasoning: boolean
  contextWindow: number
  maxTokens: number
  cost: Cost & { tiers?: (Cost & { inputTokensAbove: number })[] }
}

/** The newest release whose data were looked at. */
const catalogue = '@earendil-works/pi-ai'
const release = '1.5.2'

/** The models of the newest release, by its own names of the providers. */
const fetched = (): { version: string; models: Map<string, Listed[]> } => {
  const folder = mkdtempSync(join(tmpdir(), 'catalogue-'))
  try {
    const [file = ''] = execFileSync('npm', ['pack', '--silent', `${catalogue}@${release}`], {
      cwd: folder,
      encoding: 'utf8',
    })
      .trim()
      .split('\n')
      .slice(-1)
    execFileSync('tar', ['xzf', file], { cwd: folder })
    const { version } = JSON.parse(readFileSync(join(folder, 'package/package.json'), 'utf8'))
    const models = Object.keys(providers).map((name): [string, Listed[]] => {
      const data = readFileSync(join(folder, `package/dist/providers/data/${name}.json`), 'utf8')
      const groups: Record<string, Listed>[] = Object.values(JSON.parse(data))
      return [
        name,
        groups.flatMap((group) => Object.values(group)).filter(({ type = 'chat' }) => type === 'chat'),
      ]
    })
    return { version, models: new Map(models) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The difference of a twentieth is a matter of rounding: a million, or 2 to the power of 20. */
const isFar = (ours: number | undefined, theirs: number): boolean =>
  ours !== undefined && Math.abs(ours - theirs) > theirs / 20

const count = (value: number | undefined): string => value?.toLocaleString('en-US') ?? 'not known'

const differences = (provider: string, listed: Listed): string[] => {
  const { attachments, window, maxOutput, thinking } = findProvider(provider).chatModel(listed.id, {}).profile
  const images = listed.input.includes('image')
  return [
    ...(attachments.images === images
      ? []
      : [`images: ${attachments.images ? 'yes, not no' : 'no, not yes'}`]),
    ...(isFar(window, listed.contextWindow)
      ? [`window: ${count(window)}, not ${count(listed.contextWindow)}`]
      : []),
    ...(isFar(maxOutput, listed.maxTokens)
      ? [`longest answer: ${count(maxOutput)}, not ${count(listed.maxTokens)}`]
      : []),
    ...(thinking === listed.reasoning ? [] : [`thinks: ${thinking ? 'yes, not no' : 'no, not yes'}`]),
  ]
}

const gateways = ['openrouter', 'vercel', 'huggingface', 'bedrock', 'vertex']

/** The reason why a difference stays, where the catalogue is known to mean another thing. */
const reasonOf = (provider: string, listed: Listed, found: readonly string[]): string => {
  const { id, maxTokens, contextWindow } = listed
  const about = (field: string) => found.some((each) => each.startsWith(field))
  const reasons: [boolean, string][] = [
    [
      provider === 'openai' && contextWindow === 272_000,
      'the catalogue has the tokens above which the price rises; its gateways have the window',
    ],
    [about('longest') && maxTokens > contextWindow * 0.85, 'the catalogue repeats the window'],
    [id.includes('gemini-4-argon'), '65,536 where the answer is streamed, as here'],
    [id.includes('claude-sonnet-4.5'), 'a million only with a beta header, which is not sent'],
    [/deepseek-chat/.test(id), 'an older model under the name of today’s'],
    [/gpt-oss-safeguard|gpt-oss-(120|20)b-1/.test(id), 'the catalogue has two numbers for one model'],
    [gateways.includes(provider) && (about('window') || about('longest')), 'what one host behind it offers'],
    [provider === 'vercel' && /v3.2|mistral-small/.test(id), 'the vendor says that it can think'],
    [id === 'gpt-5.3-codex-spark', 'the vendor says that it reads text alone (2026-11-19)'],
    [id.includes('qwen3.8-2.4t-a95b'), 'its open weights read text alone (2026-11-19)'],
    [
      /^openrouter\/(?:fusion|pareto-code)$/.test(id),
      'a router: what it reads is up to the model that it picks',
    ],
    [id.includes('grok-voice'), 'it speaks over a realtime API, and is no chat model (2026-11-19)'],
  ]
  return reasons.find(([holds]) => holds)?.[1] ?? 'not settled'
}

/** Input and output, as another catalogue has them. */
const otherPrice = (provider: string, model: string): number[] | undefined => {
  const found = calcPrice({ input_tokens: 1 }, model, { providerId: provider === 'xai' ? 'x-ai' : provider })
  const base = (price: unknown): number => (typeof price === 'number' ? price : Number(Object(price).base))
  return found ? [base(found.model_price.input_mtok), base(found.model_price.output_mtok)] : undefined
}

const isContradicted = (provider: string, { id, cost }: Listed): boolean => {
  const [input = cost.input, output = cost.output] = otherPrice(provider, id) ?? []
  return input !== cost.input || output !== cost.output
}

const numbers = ({ input, output, cacheRead, cacheWrite }: Cost): string =>
  [input, output, cacheRead || '-', cacheWrite || '-'].join(' ')

const priceLine = ({ id, cost }: Listed): string => {
  const [tier] = cost.tiers ?? []
  return `${id} ${numbers(cost)}${tier ? ` ${tier.inputTokensAbove} ${numbers(tier)}` : ''}`
}

const page = (version: string, day: string, rows: string[][], compared: number): string =>
  [
    '# Models, compared with a catalogue',
    '',
    `Generated by \`npm run models\` on ${day} from ${catalogue} ${version}: ${compared} models, of which ${rows.length} differ in what`,
    'statewire takes them for. A catalogue is not always right either: some list what one host offers, or what a vendor charges less for.',
    '',
    '| provider | model | statewire has … | why it stays |',
    '|---|---|---|---|',
    ...rows.map((row) => `| ${row.join(' | ')} |`),
    '',
  ].join('\n')

const source = (version: string, day: string, lists: [string, string[]][]): string =>
  [
    '// Generated by `npm run models`. US dollars for a million tokens: input, output, input from a cache, input written to one, and,',
    '// where a long request costs more, the tokens above which it does and the same four again. What is not known is a dash.',
    '',
    '/** The day on which the prices were fetched, and the catalogue that has them. */',
    `export const pricesChecked = { checked: '${day}', source: '${catalogue} ${version}' }`,
    '',
    // A constant for each list: a bundle takes only those of its providers.
    ...lists.flatMap(([name, lines]) => [
      `${isImported(name) ? 'export ' : ''}const ${name}Prices = \``,
      ...lines,
      '`',
      '',
    ]),
    '/** The price lists of providers, a model on each line. */',
    'export const priceLists: ReadonlyMap<string, string> = new Map([',
    ...lists.map(([name]) => `  ['${name}', ${name}Prices],`),
    '])',
    '',
  ].join('\n')

/** Says whether the value of a provider has its list. */
const isImported = (name: string): boolean => {
  const file = `providers/values/${name}.ts`
  return existsSync(file) && readFileSync(file, 'utf8').includes(`${name}Prices`)
}

it.runIf(isUpdate)('is fetched and compared', () => {
  const { version, models } = fetched()
  const day = new Date().toISOString().slice(0, 10)
  const rows: string[][] = []
  const lists: [string, string[]][] = []
  let compared = 0
  for (const [theirs, provider] of Object.entries(providers)) {
    const listed = models.get(theirs) ?? []
    compared += listed.length
    for (const each of listed) {
      const found = differences(provider, each)
      if (found.length > 0)
        rows.push([provider, `\`${each.id}\``, found.join('; '), reasonOf(provider, each, found)])
    }
    const sold = listed.filter(
      (each) => each.cost.input > 0 && each.cost.output > 0 && !isContradicted(provider, each),
    )
    if (!gateways.includes(provider) && sold.length > 0) lists.push([provider, sold.map(priceLine)])
  }
  writeFileSync('docs/model-differences.md', page(version, day, rows, compared))
  writeFileSync('providers/models/priceLists.ts', source(version, day, lists))
})

describe('the price lists', () => {
  it('have a day and a source', () => {
    expect(pricesChecked.checked).toMatch(/^\d{4}-\d{2}-\d{2}$/)
    expect(pricesChecked.source).toContain(catalogue)
  })

  const listed = [...priceLists].flatMap(([provider, text]) =>
    text
      .trim()
      .split('\n')
      .map((line) => ({ provider, model: line.split(' ')[0] ?? '' })),
  )

  it('have the default models', () => {
    for (const name of ['openai', 'anthropic', 'google', 'deepseek', 'xai', 'groq'])
      expect(pricesOf(priceLists.get(name), findProvider(name).defaultModel), name).toBeDefined()
  })

  it('have no price that is 0 or not a number', () => {
    for (const { provider, model } of listed) {
      const { input = 0, output = 0 } = pricesOf(priceLists.get(provider), model) ?? {}
      expect(input > 0 && output > 0, `${provider}:${model}`).toBe(true)
    }
  })

  it('have no price that another catalogue contradicts: it would not be known', () => {
    const compared = listed.filter(({ provider, model }) => otherPrice(provider, model) !== undefined)
    expect(compared.length).toBeGreaterThan(50)
    for (const { provider, model } of compared) {
      const { input, output } = pricesOf(priceLists.get(provider), model) ?? {}
      expect({ model, price: [input, output] }).toEqual({ model, price: otherPrice(provider, model) })
    }
  })
})
