//! Charts as SVG: stacked bars of counts, and lines of durations. Pure; `templates/chart.html` draws what is worked out
//! here.
//!
//! All lengths are whole tenths of a unit, of which a chart is 360 wide, about the pixels of a phone. Series differ in
//! pattern or dash as well as in colour; both are classes and `<defs>`, for the console allows no inline style.

use std::fmt::Write as _;

/// Width of the drawing.
const WIDTH: i64 = 3_600;
/// Where the plot begins and ends; labels stand left of it and below.
const LEFT: i64 = 460;
const RIGHT: i64 = WIDTH - 40;
const TOP: i64 = 80;
const BOTTOM: i64 = 1_640;

/// Series that can be told from each other.
pub(super) const MOST_SERIES: usize = 6;

/// A place on the x axis.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    /// What it is called in the table.
    pub(super) label: String,
    /// What it is called under the axis, where there is room for that.
    pub(super) tick: Option<String>,
}

/// A row of numbers, one for each slot; none where there is nothing to say.
#[derive(Debug, Clone)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) values: Vec<Option<i64>>,
}

/// A chart, ready to be drawn.
#[derive(Debug)]
pub(super) struct Chart {
    /// Tells its parts from those of other charts on the page.
    pub(super) id: &'static str,
    pub(super) title: String,
    /// What the y axis counts.
    pub(super) unit: &'static str,
    pub(super) slots: Vec<Slot>,
    pub(super) series: Vec<Series>,
    pub(super) bars: Vec<Bar>,
    pub(super) lines: Vec<Line>,
    pub(super) x_ticks: Vec<Tick>,
    pub(super) y_ticks: Vec<Tick>,
    show: fn(i64) -> String,
}

/// A part of a stacked bar.
#[derive(Debug)]
pub(super) struct Bar {
    pub(super) x: i64,
    pub(super) y: i64,
    pub(super) width: i64,
    pub(super) height: i64,
    /// Which series.
    pub(super) series: usize,
    /// Slot, series and value in words.
    pub(super) words: String,
}

/// A line, interrupted where there is no value.
#[derive(Debug)]
pub(super) struct Line {
    /// Which series.
    pub(super) series: usize,
    /// The data of an SVG path.
    pub(super) path: String,
    pub(super) points: Vec<Point>,
}

/// A value on a line.
#[derive(Debug)]
pub(super) struct Point {
    pub(super) x: i64,
    pub(super) y: i64,
    /// Slot, series and value in words.
    pub(super) words: String,
}

/// A mark on an axis.
#[derive(Debug)]
pub(super) struct Tick {
    /// Along its axis.
    pub(super) at: i64,
    pub(super) label: String,
}

impl Chart {
    /// Bars of counts, the first series at the bottom.
    pub(super) fn bars(
        id: &'static str,
        title: String,
        unit: &'static str,
        slots: Vec<Slot>,
        series: Vec<Series>,
    ) -> Self {
        let value = |series: &Series, slot: usize| series.values.get(slot).copied().flatten().unwrap_or(0);
        let sums = (0..slots.len()).map(|slot| series.iter().map(|series| value(series, slot)).sum());
        let (step, top) = count_axis(sums.max().unwrap_or(0));
        let height = |count: i64| (BOTTOM - TOP) * count / top;
        let mut bars = Vec::new();
        let pitch = pitch(slots.len());
        for (number, slot) in slots.iter().enumerate() {
            let mut below = 0;
            for (index, series) in series.iter().enumerate() {
                let count = value(series, number);
                if count > 0 {
                    let (low, high) = (height(below), height(below + count));
                    bars.push(Bar {
                        x: middle(number, slots.len()) - pitch * 4 / 10,
                        y: BOTTOM - high,
                        width: pitch * 8 / 10,
                        height: high - low,
                        series: index,
                        words: words(slot, series, &counted(count)),
                    });
                }
                below += count;
            }
        }
        let y_ticks = (0..=top / step).map(|place| place * step);
        let y_ticks =
            y_ticks.map(|count| Tick { at: BOTTOM - height(count), label: counted(count) }).collect();
        let x_ticks = x_ticks(&slots);
        Self { id, title, unit, slots, series, bars, lines: Vec::new(), x_ticks, y_ticks, show: counted }
    }

    /// Lines of durations in microseconds, on an axis of powers of ten.
    pub(super) fn lines(
        id: &'static str,
        title: String,
        unit: &'static str,
        slots: Vec<Slot>,
        series: Vec<Series>,
    ) -> Self {
        let all = || series.iter().flat_map(|series| series.values.iter().flatten().copied());
        let axis = duration_axis(all().min().unwrap_or(1_000), all().max().unwrap_or(1_000));
        let (low, high) = (magnitude(axis[0]), magnitude(axis[axis.len() - 1]));
        let y = |us: i64| BOTTOM - (BOTTOM - TOP) * (magnitude(us).clamp(low, high) - low) / (high - low);
        let line = |(index, series): (usize, &Series)| {
            let (mut path, mut points, mut pen_is_down) = (String::new(), Vec::new(), false);
            for (number, (slot, value)) in slots.iter().zip(&series.values).enumerate() {
                if let Some(us) = *value {
                    let (x, y) = (middle(number, slots.len()), y(us));
                    let step = if pen_is_down { 'L' } else { 'M' };
                    // Writing to a String cannot fail.
                    write!(path, "{step}{x} {y}").ok();
                    points.push(Point { x, y, words: words(slot, series, &duration(us)) });
                }
                pen_is_down = value.is_some();
            }
            Line { series: index, path, points }
        };
        let lines = series.iter().enumerate().map(line).collect();
        let y_ticks = axis.iter().map(|us| Tick { at: y(*us), label: duration(*us) }).collect();
        let x_ticks = x_ticks(&slots);
        Self { id, title, unit, slots, series, bars: Vec::new(), lines, x_ticks, y_ticks, show: duration }
    }

    /// Whether there is nothing to draw.
    pub(super) fn is_empty(&self) -> bool {
        self.bars.is_empty() && self.lines.iter().all(|line| line.points.is_empty())
    }

    /// A value in the table.
    pub(super) fn cell(&self, series: &Series, slot: usize) -> String {
        series.values.get(slot).copied().flatten().map_or_else(|| "–".to_owned(), self.show)
    }
}

/// What is drawn over the colour of a series, in a square of 80: nothing, strokes, dots, bars, strokes the other way, a
/// grid.
pub(super) fn hatch(series: usize) -> &'static str {
    const HATCHES: [&str; MOST_SERIES] =
        ["", "M0 80L80 0", "M20 40h20", "M0 40H80", "M0 0L80 80", "M0 40H80M40 0V80"];
    HATCHES[series % MOST_SERIES]
}

/// A number with its thousands set apart.
pub(super) fn counted(count: i64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) && !text.ends_with('-') {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A duration in microseconds as people say it.
pub(super) fn duration(us: i64) -> String {
    match us {
        i64::MAX => "> 100 s".to_owned(),
        1_000_000.. => format!("{} s", tenths(us / 100_000)),
        1_000.. => format!("{} ms", tenths(us / 100)),
        _ => format!("{us} µs"),
    }
}

fn tenths(tenths: i64) -> String {
    if tenths % 10 == 0 { (tenths / 10).to_string() } else { format!("{}.{}", tenths / 10, tenths % 10) }
}

/// The step and the end of an axis from 0 that holds a count: a step of 1, 2 or 5 times a power of ten, at most five of
/// them.
fn count_axis(most: i64) -> (i64, i64) {
    let most = most.max(1);
    let mut power: i64 = 1;
    loop {
        for step in [power, 2 * power, 5 * power] {
            if most <= step.saturating_mul(5) {
                return (step, (most + step - 1) / step * step);
            }
        }
        power = power.saturating_mul(10);
    }
}

/// The powers of ten from below the least to above the greatest duration, at least two.
fn duration_axis(least: i64, greatest: i64) -> Vec<i64> {
    let mut low = 100;
    while low < 10_000_000 && low * 10 <= least {
        low *= 10;
    }
    let mut axis = vec![low, low * 10];
    while axis[axis.len() - 1] < greatest.min(100_000_000) {
        axis.push(axis[axis.len() - 1] * 10);
    }
    axis
}

/// The logarithm to base two in thousandths, straight between powers of two: it is off by 0.09 at most.
fn magnitude(us: i64) -> i64 {
    let us = us.clamp(1, 1 << 40);
    let whole = us.ilog2();
    i64::from(whole) * 1_000 + us * 1_000 / (1 << whole) - 1_000
}

fn pitch(slots: usize) -> i64 {
    (RIGHT - LEFT) / i64::try_from(slots.max(1)).unwrap_or(i64::MAX)
}

fn middle(slot: usize, slots: usize) -> i64 {
    LEFT + pitch(slots) * i64::try_from(slot).unwrap_or(0) + pitch(slots) / 2
}

fn x_ticks(slots: &[Slot]) -> Vec<Tick> {
    let tick = |(number, slot): (usize, &Slot)| {
        slot.tick.clone().map(|label| Tick { at: middle(number, slots.len()), label })
    };
    slots.iter().enumerate().filter_map(tick).collect()
}

fn words(slot: &Slot, series: &Series, value: &str) -> String {
    format!("{} · {}: {value}", slot.label, series.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(labels: &[&str]) -> Vec<Slot> {
        let slot = |label: &&str| Slot { label: (*label).to_owned(), tick: Some((*label).to_owned()) };
        labels.iter().map(slot).collect()
    }

    fn series(name: &str, values: &[Option<i64>]) -> Series {
        Series { name: name.to_owned(), values: values.to_vec() }
    }

    fn bars(values: &[&[Option<i64>]]) -> Chart {
        let all = values.iter().map(|values| series("s", values)).collect();
        Chart::bars("t", "T".to_owned(), "calls", slots(&["a", "b", "c"]), all)
    }

    #[test]
    fn an_axis_of_counts_has_round_steps_and_holds_the_greatest() {
        for (most, axis) in [
            (0, (1, 1)),
            (1, (1, 1)),
            (5, (1, 5)),
            (6, (2, 6)),
            (11, (5, 15)),
            (26, (10, 30)),
            (999, (200, 1_000)),
            (1_000_000, (200_000, 1_000_000)),
        ] {
            assert_eq!(count_axis(most), axis, "{most}");
        }
        for most in 0..5_000 {
            let (step, top) = count_axis(most);
            assert!(top >= most && top % step == 0 && (1..=5).contains(&(top / step)), "{most}");
        }
    }

    #[test]
    fn an_axis_of_durations_goes_by_powers_of_ten_around_the_values() {
        assert_eq!(duration_axis(2_000, 30_000), [1_000, 10_000, 100_000]);
        assert_eq!(duration_axis(1_000, 1_000), [1_000, 10_000]);
        assert_eq!(duration_axis(1, 1), [100, 1_000]);
        assert_eq!(duration_axis(50, i64::MAX).last(), Some(&100_000_000));
        assert_eq!(duration_axis(i64::MAX, i64::MAX), [10_000_000, 100_000_000]);
    }

    #[test]
    fn a_greater_duration_is_never_drawn_lower() {
        for us in 1..70_000 {
            assert!(magnitude(us) <= magnitude(us + 1), "{us}");
        }
        assert_eq!((magnitude(1), magnitude(1_024), magnitude(1_536)), (0, 10_000, 10_500));
    }

    #[test]
    fn parts_of_a_bar_stand_on_each_other_without_gap_and_stay_inside() {
        let chart = bars(&[&[Some(3), None, Some(7)], &[Some(4), Some(1), Some(3)]]);
        assert_eq!(chart.bars.len(), 5);
        let (first, second) = (&chart.bars[0], &chart.bars[1]);
        assert_eq!(first.y + first.height, BOTTOM);
        assert_eq!(second.y + second.height, first.y);
        for bar in &chart.bars {
            assert!(bar.y >= TOP && bar.x >= LEFT && bar.x + bar.width <= RIGHT && bar.height > 0);
        }
        assert_eq!(
            chart.y_ticks.iter().map(|tick| tick.label.as_str()).collect::<Vec<_>>(),
            ["0", "2", "4", "6", "8", "10"]
        );
    }

    #[test]
    fn a_line_is_interrupted_where_there_is_no_value() {
        let values = [Some(2_000), None, Some(40_000)];
        let chart =
            Chart::lines("t", "T".to_owned(), "", slots(&["a", "b", "c"]), vec![series("p50", &values)]);
        assert_eq!(chart.lines[0].path.matches('M').count(), 2);
        assert_eq!(chart.lines[0].points[1].words, "c · p50: 40 ms");
        assert!(chart.lines[0].points.iter().all(|point| (TOP..=BOTTOM).contains(&point.y)));
    }

    #[test]
    fn a_chart_of_nothing_is_empty_and_one_of_extremes_is_drawn() {
        assert!(bars(&[&[None, Some(0), None]]).is_empty());
        assert!(!bars(&[&[Some(i64::from(u32::MAX)), None, Some(1)]]).is_empty());
        assert!(Chart::lines("t", String::new(), "", Vec::new(), Vec::new()).is_empty());
    }

    #[test]
    fn numbers_and_durations_read_well() {
        let numbers = [0, 999, 1_000, 1_234_567].map(counted);
        assert_eq!(numbers, ["0", "999", "1,000", "1,234,567"]);
        let durations = [120, 1_000, 2_500, 30_000, 1_200_000, i64::MAX].map(duration);
        assert_eq!(durations, ["120 µs", "1 ms", "2.5 ms", "30 ms", "1.2 s", "> 100 s"]);
    }
}
