const light =
  '--paper:#ffffff;--group:#f6f8fa;--box:#ffffff;--line:#d1d9e0;--ink:#1f2328;--soft:#59636e;--arrow:#818b98;--accent:#0969da;--glow:#ddf4ff;--never:#d1242f;--taken-1:#8fb8a8;--taken-2:#5fa389;--taken-3:#2f8a68;--taken-4:#11684a;'
const dark =
  '--paper:#0d1117;--group:#12181f;--box:#1b222b;--line:#3d444d;--ink:#f0f6fc;--soft:#9aa4af;--arrow:#6e7a87;--accent:#4493f8;--glow:#152d4f;--never:#f85149;--taken-1:#55806f;--taken-2:#569b80;--taken-3:#5cb892;--taken-4:#7ee2b8;'

const font =
  '-apple-system,BlinkMacSystemFont,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans","Liberation Sans",Arial,sans-serif'

const rules: readonly [selector: string, declarations: string][] = [
  ['', `${light}color-scheme:light dark;font-family:${font};background:var(--paper)`],
  ['.state .box', 'fill:var(--box);stroke:var(--line);stroke-width:1.25'],
  ['.state.group .box', 'fill:var(--group)'],
  ['.state.region .box', 'stroke-dasharray:6 4'],
  ['.state .ring', 'fill:none;stroke:var(--line);stroke-width:1.25'],
  ['.state .name', 'font-size:13px;font-weight:600;fill:var(--ink)'],
  ['.pill .back', 'fill:var(--glow)'],
  ['.pill path', 'fill:var(--accent)'],
  ['.pill text', 'font-size:11px;fill:var(--accent)'],
  ['.initial', 'fill:var(--ink)'],
  ['.any .back', 'fill:none;stroke:var(--arrow);stroke-dasharray:3 3'],
  ['.any text', 'font-size:11px;fill:var(--soft)'],
  ['.edge', 'color:var(--arrow)'],
  ['.route', 'fill:none;stroke:currentColor;stroke-width:1.25'],
  ['.head', 'fill:currentColor'],
  ['.rule', 'stroke:var(--line);stroke-width:1'],
  ['.label', 'font-size:11px;fill:var(--ink)'],
  ['.guard', 'font-style:italic;fill:var(--soft)'],
  ['.count', 'font-weight:600'],
  ['.state.active .box', 'stroke:var(--accent);stroke-width:2.5'],
  ['.state.active.group .box', 'stroke-width:1.75'],
  ['.state.active:not(.group) .box', 'fill:var(--glow)'],
  ['.state.active:not(.group) .pill .back', 'fill:var(--box)'],
  ['.edge.active', 'color:var(--accent)'],
  ['.edge.active .route', 'stroke-width:2.25'],
  ['.label.active', 'fill:var(--accent)'],
  ['.edge.taken-0', 'color:var(--never)'],
  ['.edge.taken-0 .route', 'stroke-dasharray:5 4'],
  ['.label.taken-0 tspan', 'fill:var(--never)'],
  ...[1, 2, 3, 4].flatMap((level): [string, string][] => [
    [`.edge.taken-${level}`, `color:var(--taken-${level})`],
    [`.edge.taken-${level} .route`, `stroke-width:${1 + level / 3}`],
    [`.label.taken-${level} .count`, `fill:var(--taken-${Math.max(2, level)})`],
  ]),
]

const write = (selector: string, declarations: string): string =>
  `.statechart${selector && ` ${selector}`}{${declarations}}`

/** Light or dark as the reader's system has it. A page that shows the picture decides with `data-theme`. */
export const styleSheet = [
  ...rules.map(([selector, declarations]) => write(selector, declarations)),
  `@media (prefers-color-scheme:dark){${write('', dark)}}`,
  `[data-theme=light] .statechart,.statechart[data-theme=light]{${light}}`,
  `[data-theme=dark] .statechart,.statechart[data-theme=dark]{${dark}}`,
].join('\n')
