import { line, stat } from '../panels.mjs'
import { FAILED, GOOD_IS_ONE, GOOD_IS_ZERO, p, SHARES } from '../queries.mjs'

export const overview = {
  uid: 'model-gateway-overview',
  title: 'Model gateway: overview',
  description: 'Whether the gateway serves its clients, and what it needs for that.',
  rows: [
    {
      title: 'At a glance',
      panels: [
        stat('Requests', 'Requests that ended, each second.', 'reqps', 'sum(rate(gateway_requests_total{@}[@]))'),
        stat(
          'Errors',
          'Share of requests that ended with an error of an upstream or of the gateway. Errors of clients are not in it.',
          'percentunit',
          `(sum(rate(gateway_requests_total{@,${FAILED}}[@])) or vector(0)) / sum(rate(gateway_requests_total{@}[@]))`,
          { steps: SHARES, max: 1 },
        ),
        stat(
          'Duration, p95',
          'Nineteen of twenty requests are faster than this, from their arrival to the end of their answer.',
          's',
          p(0.95, 'http_server_request_duration_seconds', []),
        ),
        stat('In flight', 'Requests that have not ended.', 'short', 'sum(gateway_requests_in_flight{@})'),
        stat(
          'Tokens',
          'Tokens that are charged, each second, input and output together.',
          'suffix: tokens/s',
          'sum(rate(gateway_charged_tokens_total{@}[@]))',
        ),
        stat(
          'Cost',
          'What requests cost, as it would add up in an hour at the present rate.',
          'currencyUSD',
          'sum(rate(gateway_cost_usd_total{@}[@])) * 3600',
        ),
      ],
    },
    {
      title: 'Traffic',
      panels: [
        line(
          'Requests by outcome',
          'How requests ended. client_abort: the client went away before its answer was complete.',
          'reqps',
          [['sum by (outcome) (rate(gateway_requests_total{@}[@]))', '{{outcome}}']],
          { stacked: true },
        ),
        line('Duration of requests', 'From the arrival of a request to the end of its answer.', 's', [
          [p(0.5, 'http_server_request_duration_seconds', []), 'p50'],
          [p(0.95, 'http_server_request_duration_seconds', []), 'p95'],
          [p(0.99, 'http_server_request_duration_seconds', []), 'p99'],
        ]),
        line(
          'Time of the gateway itself',
          'Time of a request less that of its attempts at upstreams. It includes waiting for the body of the client.',
          's',
          [
            [p(0.5, 'gateway_own_duration_seconds', []), 'p50'],
            [p(0.99, 'gateway_own_duration_seconds', []), 'p99'],
          ],
        ),
        line('Requests by route', 'Requests each second, by the path of their route.', 'reqps', [
          ['sum by (http_route) (rate(gateway_requests_total{@}[@]))', '{{http_route}}'],
        ]),
        line('Statuses', 'Answers each second, by their status. 499: the client went away.', 'reqps', [
          [
            'sum by (http_response_status_code) (rate(http_server_request_duration_seconds_count{@}[@]))',
            '{{http_response_status_code}}',
          ],
        ]),
        line(
          'Errors by code',
          'Requests that ended with an error, each second, by the code in docs/errors.md.',
          'reqps',
          [['sum by (error_type) (rate(gateway_errors_total{@}[@]))', '{{error_type}}']],
        ),
        line('Limits met', 'Requests that a limit refused, each second, by the limit.', 'reqps', [
          ['sum by (limit) (rate(gateway_limits_met_total{@}[@]))', '{{limit}}'],
        ]),
        line('Bytes', 'Bytes of bodies each second: from clients, and to them.', 'Bps', [
          ['sum(rate(gateway_request_body_bytes_total{@}[@]))', 'from clients'],
          ['sum(rate(gateway_response_body_bytes_total{@}[@]))', 'to clients'],
        ]),
        line('Connections', 'Connections that clients have open, and how many of these are WebSockets.', 'short', [
          ['sum(gateway_client_connections{@})', 'connections'],
          ['sum(gateway_websockets{@})', 'WebSockets'],
        ]),
      ],
    },
    {
      title: 'Configuration and store',
      panels: [
        stat(
          'Files are valid',
          '1: the files on disk are what serves. 0: they have errors, and the last good configuration serves.',
          'short',
          'min(gateway_config_valid{@})',
          { steps: GOOD_IS_ONE },
        ),
        stat(
          'Store works',
          '1: the store can be used. 0: requests that need it are refused.',
          'short',
          'min(gateway_store_up{@})',
          { steps: GOOD_IS_ONE },
        ),
        stat(
          'Configurations',
          'How many different configurations serve at the same time. More than 1 for long: an instance missed a change.',
          'short',
          'count(count by (digest) (gateway_config_info{@}))',
          {
            steps: [
              [null, 'blue'],
              [2, 'orange'],
            ],
          },
        ),
        stat(
          'Generation',
          'Counts up with each reload that changed something.',
          'none',
          'max(gateway_config_generation{@})',
        ),
        stat(
          'Share of a changed one',
          'The share of requests that a changed configuration gets first. 0: none is tried.',
          'percentunit',
          'max(gateway_reload_canary_ratio{@})',
        ),
        stat(
          'Problems',
          'Errors and warnings that the files had when they were last read.',
          'short',
          'sum(gateway_config_problems{@})',
          { steps: GOOD_IS_ZERO },
        ),
        stat(
          'Not stored',
          'What could not be stored in the last hour.',
          'short',
          'sum(increase(gateway_store_faults_total{@}[1h]))',
          { steps: GOOD_IS_ZERO },
        ),
        line('Reloads', 'Reloads each second, by their result.', 'ops', [
          ['sum by (result) (rate(gateway_config_reloads_total{@}[@]))', '{{result}}'],
        ]),
        line(
          'Requests of a changed configuration',
          'While it gets a share first: requests each second of it (new) and of the one before (old), by how their first attempt ended.',
          'ops',
          [['sum by (part, outcome) (rate(gateway_reload_canary_requests_total{@}[@]))', '{{part}}, {{outcome}}']],
        ),
        line('Receipts', 'Receipts each second: written, dropped, or refused with their requests.', 'ops', [
          ['sum by (result) (rate(gateway_receipts_total{@}[@]))', '{{result}}'],
        ]),
        line('Spans', 'Spans each second, by what the collector said of them, and those that were not sent.', 'ops', [
          ['sum by (outcome) (rate(gateway_telemetry_spans_total{@}[@]))', '{{outcome}}'],
          ['sum by (reason) (rate(gateway_telemetry_spans_dropped_total{@}[@]))', 'dropped: {{reason}}'],
        ]),
        line(
          'Lines of the log',
          'Lines each second by what the collector said of them, those that were not sent, and those that were not written.',
          'ops',
          [
            ['sum by (outcome) (rate(gateway_telemetry_log_lines_total{@}[@]))', '{{outcome}}'],
            ['sum by (reason) (rate(gateway_telemetry_log_lines_dropped_total{@}[@]))', 'dropped: {{reason}}'],
            ['sum(rate(gateway_log_lines_lost_total{@}[@]))', 'not written'],
          ],
        ),
        line(
          'Requests to the collector',
          'Requests each second that brought spans, metrics or lines of the log to the collector.',
          'ops',
          [['sum by (outcome) (rate(gateway_telemetry_exports_total{@}[@]))', '{{outcome}}']],
        ),
        line('Time of the store', 'Time of one operation of the store, at the 99th percentile.', 's', [
          [p(0.99, 'gateway_store_operation_duration_seconds', ['operation']), '{{operation}}'],
        ]),
        line('Operations of the store', 'Operations each second, by their result.', 'ops', [
          ['sum by (result) (rate(gateway_store_operation_duration_seconds_count{@}[@]))', '{{result}}'],
        ]),
      ],
    },
    {
      title: 'Process',
      panels: [
        line(
          'Delay of the event loop',
          'How late the event loop was between two scrapes. Above 0.1 s all requests of the process wait noticeably.',
          's',
          [
            ['max(nodejs_eventloop_delay_p99_seconds{@})', 'p99'],
            ['max(nodejs_eventloop_delay_max_seconds{@})', 'max'],
          ],
        ),
        line('CPU', 'CPU seconds each second: 1 is a whole core.', 'short', [
          ['sum by (cpu_mode) (rate(process_cpu_time_seconds_total{@}[@]))', '{{cpu_mode}}'],
          ['max(nodejs_eventloop_utilization_ratio{@})', 'busiest event loop'],
        ]),
        line('Memory', 'Memory of all processes.', 'bytes', [
          ['sum(process_memory_usage_bytes{@})', 'resident'],
          ['sum(v8js_memory_heap_used_bytes{@})', 'heap in use'],
        ]),
        line(
          'Memory that is reserved',
          'Memory reserved for large bodies and for what is translated, by its use.',
          'bytes',
          [['sum by (use) (gateway_memory_held_bytes{@})', '{{use}}']],
        ),
        line('Uptime', 'Time since the oldest process of each instance started. It falls when one starts again.', 's', [
          ['max by (instance) (process_uptime_seconds{@})', '{{instance}}'],
        ]),
      ],
    },
  ],
}
