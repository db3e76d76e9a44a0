// Which page of the reference a public name is on: that of its entry, and for `statewire` itself that of its topic.

/** The pages of `statewire`, in the order of the index; a name is on the first whose files it comes from. */
export const topics = [
  ['errors', 'Errors', 'What can be thrown', /^src\/messages\/errors/],
  [
    'results',
    'Results',
    'What a send gives',
    /^src\/messages\/(result|compaction)|^src\/agent\/partialValues/,
  ],
  ['messages', 'Messages', 'What a conversation is made of', /^src\/messages\//],
  [
    'tools',
    'Tools',
    'Tools, approvals, schemas',
    /^src\/tools\/|^src\/model\/serverTools|^src\/agent\/agentTool/,
  ],
  ['chat', 'Chat', 'A conversation that keeps its own history', /^src\/agent\/Chat/],
  [
    'orchestrators',
    'Orchestrators',
    'Other ways of answering, and decisions',
    /^machines\/orchestrators\/|^src\/agent\/createDecision/,
  ],
  [
    'runs',
    'Runs',
    'A run as a handle and as an actor: its states, events and data',
    /^src\/agent\/Run\.|^machines\/agent\/(events|agentSnapshot|agentMachine|streamingState)|^machines\/logic\//,
  ],
  [
    'agent',
    'Agent',
    'The agent, all of its options, and those of a send',
    /^src\/agent\/|^machines\/|^src\/model\/(retryPolicy|timeouts|clock)|^providers\/(http\/apiKey|http\/headers|profileOverride)/,
  ],
  ['models', 'Models and providers', 'Model strings, providers, models of your own', /./],
].map(([page, title, summary, files]) => ({ page, title, summary, files }))

/** The order in which a reader looks for them. */
export const order = [
  'agent',
  'runs',
  'chat',
  'tools',
  'messages',
  'results',
  'errors',
  'models',
  'orchestrators',
]

/** Options of an agent that live beside the models. */
const agentOptions =
  /^(GenerationSettings|ConnectionOptions|TransportOptions|Limits|EmbedOptions|Thinking|ToolChoice)$/

export const topicOf = ({ name, file }) =>
  agentOptions.test(name) ? 'agent' : topics.find(({ files }) => files.test(file)).page
