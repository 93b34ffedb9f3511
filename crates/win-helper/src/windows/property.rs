//! Cached properties of an element, as values of Rust. A property that is missing or of another type is `None`.

use ::windows::Win32::System::Ole::SafeArrayGetElement;
use ::windows::Win32::System::Variant::{VARIANT, VT_ARRAY, VT_BOOL, VT_BSTR, VT_I4, VT_R8};
use ::windows::Win32::UI::Accessibility::{IUIAutomationElement, UIA_PROPERTY_ID};

use crate::desktop::Bounds;

/// A text.
pub fn text(element: &IUIAutomationElement, property: UIA_PROPERTY_ID) -> Option<String> {
    let value = cached(element, property)?;
    // SAFETY: the type says which member of the union is there; it is copied before the value is dropped.
    (value.vt() == VT_BSTR).then(|| unsafe { value.Anonymous.Anonymous.Anonymous.bstrVal.to_string() })
}

/// A number.
pub fn number(element: &IUIAutomationElement, property: UIA_PROPERTY_ID) -> Option<i32> {
    let value = cached(element, property)?;
    // SAFETY: the type says which member of the union is there.
    (value.vt() == VT_I4).then(|| unsafe { value.Anonymous.Anonymous.Anonymous.lVal })
}

/// A truth value.
pub fn truth(element: &IUIAutomationElement, property: UIA_PROPERTY_ID) -> Option<bool> {
    let value = cached(element, property)?;
    // SAFETY: the type says which member of the union is there.
    (value.vt() == VT_BOOL).then(|| unsafe { value.Anonymous.Anonymous.Anonymous.boolVal.as_bool() })
}

/// A place on the screen, rounded to whole pixels. An element without a place gives none.
pub fn bounds(element: &IUIAutomationElement, property: UIA_PROPERTY_ID) -> Option<Bounds> {
    let value = cached(element, property)?;
    let place = rectangle(&value)?;
    // An element that is not shown has no size, or, on Windows, infinite edges.
    let [x, y, width, height] = place.map(|edge| edge.is_finite().then(|| whole(edge)));
    Some(Bounds { x: x?, y: y?, width: width?, height: height? }).filter(|place| *place != Bounds::default())
}

fn cached(element: &IUIAutomationElement, property: UIA_PROPERTY_ID) -> Option<VARIANT> {
    // SAFETY: a method of a live interface; the value that it gives is owned and is cleared when it is dropped.
    unsafe { element.GetCachedPropertyValueEx(property, true) }.ok()
}

/// Left, top, width and height.
fn rectangle(value: &VARIANT) -> Option<[f64; 4]> {
    if value.vt().0 != VT_ARRAY.0 | VT_R8.0 {
        return None;
    }
    // SAFETY: the type says that this member of the union is there.
    let array = unsafe { value.Anonymous.Anonymous.Anonymous.parray };
    let mut edges = [0.0; 4];
    for (index, edge) in (0_i32..).zip(&mut edges) {
        // SAFETY: the array belongs to `value` and holds numbers of this size; an index that it lacks is an error.
        unsafe { SafeArrayGetElement(array, &raw const index, std::ptr::from_mut(edge).cast()) }.ok()?;
    }
    Some(edges)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a float's cast stops at the ends of the integer's range"
)]
fn whole(edge: f64) -> i32 {
    edge.round() as i32
}
