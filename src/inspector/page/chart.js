// @ts-check
import { ChartPane } from './ChartPane.js'
import { byId } from './element.js'
import { actor, onChange, shownIndex, shownMoment, state } from './store.js'
import { Viewport } from './Viewport.js'

const host = byId('chart', HTMLElement)
const policyHost = byId('policy-chart', HTMLElement)
const details = byId('chart-details', HTMLButtonElement)

const moments = () => state.moments.slice(0, shownIndex() + 1)

const run = new ChartPane(
  host,
  new Viewport(host, {
    fit: byId('zoom-fit', HTMLButtonElement),
    follow: byId('zoom-follow', HTMLButtonElement),
    larger: byId('zoom-in', HTMLButtonElement),
    smaller: byId('zoom-out', HTMLButtonElement),
  }),
  {
    actor,
    now: shownMoment,
    before: () => [...state.droppedTaken, ...moments().flatMap(({ taken }) => taken)],
  },
)

/** The policy of the run that is shown: the child that the run asks. */
const policyOfRun = () =>
  [...state.actors.values()].findLast(
    ({ parent, name, kind }) =>
      parent === state.watched && parent !== null && name === 'policy' && kind !== 'other',
  )

const policy = new ChartPane(policyHost, new Viewport(policyHost), {
  actor: policyOfRun,
  now: () => shownMoment()?.policy ?? undefined,
  before: () => moments().flatMap((moment) => moment.policy?.taken ?? []),
})

const render = () => {
  // A file of an older version has no policy in its moments.
  policyHost.hidden = !policyOfRun()
  byId('panel-chart', HTMLElement).classList.toggle('with-policy', !policyHost.hidden)
  run.render()
  if (!policyHost.hidden) policy.render()
}

details.addEventListener('click', () => {
  const isDetailed = details.getAttribute('aria-pressed') !== 'true'
  details.setAttribute('aria-pressed', String(isDetailed))
  run.showDetails(isDetailed)
  policy.showDetails(isDetailed)
})

/** Starts the chart of the run, and that of its policy above it. */
export const startChart = () => onChange(render)
