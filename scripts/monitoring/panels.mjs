// Makes Grafana's JSON of short descriptions. The model is the classic one (schema version 39, Grafana 10.4 and newer):
// https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/

const SCHEMA_VERSION = 39
const WIDTH = 24
const DATASOURCE = { type: 'prometheus', uid: '$datasource' }
/** Which gateways a dashboard shows, and over which time rates are taken. `{@` and `[@]` in queries stand for them. */
const AT = '{job=~"$job",instance=~"$instance"'
const RATE_WINDOW = '[$__rate_interval]'

/** Colours that people with any colour vision tell apart (Okabe and Ito). */
export const COLOURS = {
  blue: '#0072B2',
  orange: '#E69F00',
  green: '#009E73',
  vermillion: '#D55E00',
  sky: '#56B4E9',
  purple: '#CC79A7',
  yellow: '#F0E442',
  grey: '#999999',
}
const IN_TURN = ['blue', 'orange', 'green', 'purple', 'sky', 'vermillion', 'yellow']

/** What values of labels look like everywhere. */
const BY_VALUE = {
  outcome: {
    ...{
      ok: 'blue',
      taken: 'blue',
      client_error: 'orange',
      again: 'orange',
      client_abort: 'purple',
      cancelled: 'purple',
    },
    ...{ upstream_error: 'vermillion', status: 'vermillion', given_up: 'vermillion', gateway_error: 'yellow' },
  },
  state: { queued: 'sky', running: 'green', succeeded: 'blue', failed: 'vermillion', cancelled: 'purple' },
  result: { ok: 'blue', applied: 'blue', unchanged: 'sky', error: 'vermillion', failed: 'vermillion' },
}

/** `queries`: pairs of a PromQL expression and a legend. */
export const line = (title, description, unit, queries, more = {}) => ({
  ...{ type: 'timeseries', width: 8, height: 8 },
  ...{ title, description, unit, queries },
  ...more,
})
export const stat = (title, description, unit, query, more = {}) => ({
  ...{ type: 'stat', width: 4, height: 4 },
  ...{ title, description, unit, queries: [[query, '']] },
  ...more,
})
export const bars = (title, description, unit, query, legend, more = {}) => ({
  ...{ type: 'bargauge', width: 8, height: 8 },
  ...{ title, description, unit, queries: [[query, legend]] },
  ...more,
})

/** A variable whose values are those of a label. */
export const variable = (name, metric, label, text) => ({ name, metric, label, text })

const COMMON = [
  variable('job', 'gateway_config_generation', 'job', 'Job'),
  variable('instance', 'gateway_config_generation', 'instance', 'Instance'),
]

/** Queries of a dashboard as they are written into it, with what names them in errors, and their legends. */
export function queriesOf({ uid, rows, variables = [] }) {
  const panels = rows.flatMap(row => row.panels)
  return [
    ...[...COMMON, ...variables].map(({ metric, label, name }) => ({
      where: `${uid}, variable ${name}`,
      query: `label_values(${metric}, ${label})`,
    })),
    ...panels.flatMap(({ title, queries }) =>
      queries.map(([query, legend]) => ({ where: `${uid}, panel "${title}"`, query: whole(query), legend })),
    ),
  ]
}

function whole(query) {
  return query.replaceAll('{@', AT).replaceAll('[@]', RATE_WINDOW)
}

/** The JSON of a dashboard. Panels are placed from left to right, row by row. */
export function dashboardJson({ uid, title, description, rows, variables = [] }) {
  const panels = []
  let y = 0
  const add = (panel, x, w, h) => panels.push({ id: panels.length + 1, ...panel, gridPos: { x, y, w, h } })
  for (const row of rows) {
    add({ type: 'row', title: row.title, collapsed: false, panels: [] }, 0, WIDTH, 1)
    y++
    let [x, height] = [0, 0]
    for (const panel of row.panels) {
      if (x + panel.width > WIDTH) {
        y += height
        ;[x, height] = [0, 0]
      }
      add(panelJson(panel), x, panel.width, panel.height)
      x += panel.width
      height = Math.max(height, panel.height)
    }
    y += height
  }
  return {
    id: null,
    uid,
    title,
    description,
    tags: ['model-gateway'],
    timezone: 'browser',
    editable: true,
    graphTooltip: 1,
    schemaVersion: SCHEMA_VERSION,
    version: 1,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    timepicker: {},
    fiscalYearStartMonth: 0,
    weekStart: '',
    annotations: { list: [reloads()] },
    links: [
      {
        ...{ title: 'Gateway dashboards', type: 'dashboards', tags: ['model-gateway'], icon: 'external link' },
        ...{ asDropdown: true, includeVars: true, keepTime: true, targetBlank: false, tooltip: '', url: '' },
      },
    ],
    templating: { list: [datasource(), ...[...COMMON, ...variables].map(variableJson)] },
    panels,
  }
}

function panelJson({ type, title, description, unit, queries, min = 0, max, steps, stacked = false }) {
  return {
    type,
    title,
    description,
    datasource: DATASOURCE,
    fieldConfig: {
      defaults: {
        unit,
        min,
        ...(max === undefined ? {} : { max }),
        ...colourOf(type, queries, steps),
        ...(type === 'timeseries' ? { custom: lineStyle(stacked) } : {}),
      },
      overrides: overridesOf(queries),
    },
    options: OPTIONS[type],
    targets: queries.map(([query, legend], at) => ({
      ...{ refId: String.fromCharCode(65 + at), datasource: DATASOURCE, editorMode: 'code', expr: whole(query) },
      ...(legend === '' ? {} : { legendFormat: legend }),
      ...(type === 'timeseries' ? { range: true, instant: false } : { range: false, instant: true }),
    })),
  }
}

/** Many series of one query are shades of one colour: they differ in lightness. */
function colourOf(type, queries, steps) {
  if (steps !== undefined) {
    const coloured = steps.map(([value, colour]) => ({ value, color: COLOURS[colour] }))
    return { color: { mode: 'thresholds' }, thresholds: { mode: 'absolute', steps: coloured } }
  }
  const isMany = type !== 'stat' && queries.some(([, legend]) => legend.includes('{{'))
  return { color: { mode: isMany ? 'shades' : 'fixed', fixedColor: COLOURS.blue } }
}

function overridesOf(queries) {
  const coloured = (id, options, colour, mode = 'fixed') => ({
    matcher: { id, options },
    properties: [{ id: 'color', value: { mode, fixedColor: COLOURS[colour] } }],
  })
  const byQuery = queries.map(([, legend], at) => {
    const mode = legend.includes('{{') ? 'shades' : 'fixed'
    return coloured('byFrameRefID', String.fromCharCode(65 + at), IN_TURN[at % IN_TURN.length], mode)
  })
  const label = queries.map(([, legend]) => /^\{\{(\w+)\}\}$/.exec(legend)?.[1]).find(one => one in BY_VALUE)
  const values = label === undefined ? [] : Object.entries(BY_VALUE[label])
  const byValue = values.map(([value, colour]) => coloured('byName', value, colour))
  return [...(queries.length > 1 ? byQuery : []), ...byValue]
}

function lineStyle(stacked) {
  return {
    ...{
      drawStyle: 'line',
      lineInterpolation: 'linear',
      lineWidth: 1,
      fillOpacity: stacked ? 40 : 8,
      showPoints: 'never',
    },
    ...{ spanNulls: false, axisPlacement: 'auto', stacking: { mode: stacked ? 'normal' : 'none', group: 'A' } },
  }
}

const OPTIONS = {
  timeseries: {
    legend: { displayMode: 'table', placement: 'bottom', showLegend: true, calcs: ['lastNotNull', 'max'] },
    tooltip: { mode: 'multi', sort: 'desc' },
  },
  stat: {
    ...{ colorMode: 'value', graphMode: 'none', justifyMode: 'auto', orientation: 'auto', textMode: 'auto' },
    reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
  },
  bargauge: {
    ...{ displayMode: 'basic', orientation: 'horizontal', showUnfilled: true, valueMode: 'text' },
    reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
  },
}

/** Marks the moments at which another configuration went live. */
function reloads() {
  return {
    ...{ name: 'New configuration', enable: true, hide: false, iconColor: COLOURS.grey, datasource: DATASOURCE },
    ...{ expr: RELOADED, step: '30s', titleFormat: 'New configuration', textFormat: 'generation changed' },
  }
}
/** The query of that. */
export const RELOADED = `changes(gateway_config_generation${AT}}[1m]) > 0`

function datasource() {
  return {
    ...{ name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', hide: 0, refresh: 1 },
    ...{ includeAll: false, multi: false, options: [], regex: '', skipUrlSync: false, current: {} },
  }
}

function variableJson({ name, metric, label, text }) {
  const definition = `label_values(${metric}, ${label})`
  return {
    ...{ name, label: text, type: 'query', datasource: DATASOURCE, definition },
    query: { query: definition, refId: `variable-${name}` },
    ...{ includeAll: true, multi: true, allValue: '.*', hide: 0, refresh: 2, sort: 1, regex: '', skipUrlSync: false },
    ...{ options: [], current: { selected: true, text: ['All'], value: ['$__all'] } },
  }
}
