// The dashboards, by the names of their files in deploy/grafana.
import { keys } from './dashboards/keys-and-cost.mjs'
import { models } from './dashboards/models.mjs'
import { overview } from './dashboards/overview.mjs'
import { tasks } from './dashboards/tasks.mjs'
import { upstreams } from './dashboards/upstream-health.mjs'

export const DASHBOARDS = { overview, models, 'keys-and-cost': keys, 'upstream-health': upstreams, tasks }
