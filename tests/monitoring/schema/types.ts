// What a dashboard of ours may be: Grafana's types, with those of each kind of panel in their places.
import type * as now from '@grafana/schema';
import type * as bargauge from '@grafana/schema/dist/esm/raw/composable/bargauge/panelcfg/x/BarGaugePanelCfg_types.gen';
import type * as stat from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type * as timeseries from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';
import type * as old from 'grafana-schema-10';
import type { PrometheusDataQuery } from 'grafana-schema-10/dist/esm/raw/composable/prometheus/dataquery/x/PrometheusDataQuery_types.gen';

// JSON holds the values of enums, not their members.
type Plain<T> = T extends string
  ? string extends T ? string : `${T}`
  : T extends number
    ? number extends T ? number : `${T}` extends `${infer Value extends number}` ? Value : never
    : T extends object ? { [Key in keyof T]: Plain<T[Key]> } : T;

type Query = Plain<PrometheusDataQuery>;

type Of<Panel, Config, Source, Kind, Options, Custom> = Omit<
  Plain<Panel>,
  'type' | 'options' | 'fieldConfig' | 'targets'
> & {
  type: Kind;
  options: Plain<Partial<Options>>;
  targets: Query[];
  fieldConfig: Omit<Plain<Source>, 'defaults'> & {
    defaults: Omit<Plain<Config>, 'custom'> & { custom?: Plain<Partial<Custom>> };
  };
};

type Board<Dashboard, Panels> = Omit<Plain<Dashboard>, 'panels'> & { panels: Panels[] };

type Now<Kind, Options, Custom = never> = Of<now.Panel, now.FieldConfig, now.FieldConfigSource, Kind, Options, Custom>;

export type Board13 = Board<
  now.Dashboard,
  | Now<'timeseries', timeseries.Options, timeseries.FieldConfig>
  | Now<'stat', stat.Options>
  | Now<'bargauge', bargauge.Options>
  | Plain<now.RowPanel>
>;

// The types of Grafana 10 have fields with a default as required, and lack some of what variables could do by then. And
// JSON has no -Infinity, from which a threshold's first step begins: null stands for it, as later types say.
type OldPanel = Partial<old.Panel>;
type OldConfig = Omit<old.FieldConfig, 'thresholds'> & Pick<now.FieldConfig, 'thresholds'>;
type OldDashboard = Partial<Omit<old.Dashboard, 'templating'>> & Pick<now.Dashboard, 'templating'>;
type Old<Kind, Options, Custom = never> = Of<OldPanel, OldConfig, old.FieldConfigSource, Kind, Options, Custom>;

export type Board10 = Board<
  OldDashboard,
  | Old<'timeseries', { legend: old.VizLegendOptions; tooltip: old.VizTooltipOptions }, old.GraphFieldConfig>
  | Old<'stat', stat.Options>
  | Old<'bargauge', bargauge.Options>
  | Plain<old.RowPanel>
>;
